/**
 * The tools that some tests need beside Node. Where one is missing, those tests are skipped and say so; where
 * `RICOCHET_REQUIRE` names it (`postgres,go,chromium,old-node,promtool,systemd`), they fail instead, so that a machine that must
 * run them does.
 */
import { spawnSync } from "node:child_process"
import { globSync } from "node:fs"
import { delimiter, join } from "node:path"

/** Where Chromium is, when there is one. */
export const chromiumPath = globSync("/usr/bin/{chromium,chromium-browser,google-chrome}")[0]

/** A Node on the PATH that is older than the package takes, when there is one. */
export const oldNodePath = (): string | undefined =>
  (process.env.PATH ?? "")
    .split(delimiter)
    .map((directory) => join(directory, "node"))
    .find((node) => /^v(1\d|20|21)\./.test(spawnSync(node, ["--version"], { encoding: "utf8" }).stdout ?? ""))

const present = {
  chromium: () => chromiumPath !== undefined,
  go: () => spawnSync("go", ["version"]).status === 0,
  "old-node": () => oldNodePath() !== undefined,
  postgres: () =>
    spawnSync("initdb", ["--version"]).status === 0 || globSync("/usr/lib/postgresql/*/bin/initdb").length > 0,
  promtool: () => spawnSync("promtool", ["--version"]).status === 0,
  /** Its tools, and a Python to receive what they say; that it runs here is not needed. */
  systemd: () =>
    spawnSync("systemd-analyze", ["--version"]).status === 0 && spawnSync("python3", ["--version"]).status === 0
}

export type Tool = keyof typeof present

const required = (process.env.RICOCHET_REQUIRE ?? "").split(",")

/** Whether tests that need the tool are to be skipped. */
export const isMissing = (tool: Tool): boolean => !required.includes(tool) && !present[tool]()

/** The name of a suite that needs the tool, which says why it is skipped where it is. */
export const named = (name: string, tool: Tool): string =>
  isMissing(tool) ? `${name} (skipped: there is no ${tool} on this machine)` : name
