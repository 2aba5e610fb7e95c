// The suite in three projects: pure rules, stories in virtual time, and wires (real processes, sockets and databases).
// The first two leave nothing behind in a process, so their files share one, and with it what they import.
import { defineConfig } from "vitest/config"

const root = new URL("..", import.meta.url).pathname

export default defineConfig({
  root,
  test: {
    root,
    reporters: ["default"],
    projects: [
      {
        root,
        test: {
          name: "pure",
          globalSetup: "test/process/Program.ts",
          isolate: false,
          maxWorkers: 3,
          include: [
            "test/{time,config,identity,registry,health,logging,ops,cli,layout,api}/**/*.test.ts",
            "test/soak/{Conduct,Model,Plan}.test.ts"
          ]
        }
      },
      {
        root,
        resolve: { tsconfigPaths: true },
        test: {
          name: "stories",
          isolate: false,
          maxWorkers: 3,
          include: [
            "test/{gossip,announcing,directory,stories,examples}/**/*.test.ts",
            "test/{attack,library}/*.test.ts"
          ],
          testTimeout: 60_000
        }
      },
      {
        root,
        test: {
          name: "wires",
          isolate: false,
          globalSetup: "test/process/Program.ts",
          include: [
            "test/{wires,storage,process,browser,interop,deploy,packaging}/**/*.test.ts",
            "test/{attack,library}/wires/*.test.ts",
            "test/soak/Soak.test.ts"
          ],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          maxWorkers: 3
        }
      }
    ]
  }
})
