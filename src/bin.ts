#!/usr/bin/env node
/**
 * The `ricochet` command. It imports nothing and keeps to old syntax, so that under a Node that is too old it still
 * runs, and says so in one line (exit code 1).
 */
const parts = process.versions.node.split(".").map(Number) as [number, number]

if (parts[0] < 22 || (parts[0] === 22 && parts[1] < 19)) {
  process.stderr.write(`ricochet: Node ${process.versions.node} is too old; Node 22.19 or newer is needed\n`)
  process.exit(1)
}

// Until the program has taken over nothing is running, so a signal is a clean stop.
const leave = () => process.exit(0)
process.on("SIGINT", leave).on("SIGTERM", leave)

import("./main.ts").then(({ main }) => {
  main(process.argv.slice(2))
  // Only now: a signal that waits for its listeners is lost in the moment there are none.
  process.off("SIGINT", leave).off("SIGTERM", leave)
})
