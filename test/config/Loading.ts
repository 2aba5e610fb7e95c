/** Loads a configuration out of values: files by their path, environment and flags. No disk, no process. */
import { Effect, FileSystem, PlatformError, Stream } from "effect"
import * as Configuration from "../../src/config/Configuration.ts"

export interface Given {
  readonly files?: Readonly<Record<string, string>>
  readonly environment?: Readonly<Record<string, string>>
  readonly flags?: Partial<Configuration.Flags>
}

export const usual = "/etc/ricochet/config.yaml"

const notFound = (path: string) =>
  PlatformError.systemError({ _tag: "NotFound", module: "FileSystem", method: "stat", pathOrDescriptor: path })

export const load = ({ files = {}, environment = {}, flags = {} }: Given) =>
  Configuration.load({ flags: { presets: [], config: undefined, values: {}, ...flags }, environment }).pipe(
    Effect.provide(
      FileSystem.layerNoop({
        stat: (path) =>
          path in files ? Effect.succeed({ type: "File" } as FileSystem.File.Info) : Effect.fail(notFound(path)),
        stream: (path) => Stream.make(new TextEncoder().encode(files[path]))
      })
    )
  )

/** The settings that a file in its usual place makes. */
export const fromFile = (text: string) => load({ files: { [usual]: text } })

/** What is wrong, a line each. */
export const problems = (given: Given) =>
  load(given).pipe(
    Effect.flip,
    Effect.map((error) => error.problems.map(({ text }) => text))
  )
