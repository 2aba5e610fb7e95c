// The suite in three projects: pure rules, stories in virtual time, and wires (real processes, sockets and databases).
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
          include: ["test/{time,config,identity,registry,health,logging,ops,cli,layout}/**/*.test.ts"]
        }
      },
      {
        root,
        test: {
          name: "stories",
          include: ["test/{gossip,announcing,directory,stories}/**/*.test.ts", "test/attack/*.test.ts"],
          testTimeout: 20_000
        }
      },
      {
        root,
        test: {
          name: "wires",
          include: ["test/{wires,storage,process,browser,interop,deploy}/**/*.test.ts", "test/attack/wires/*.test.ts"],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          maxWorkers: 2
        }
      }
    ]
  }
})
