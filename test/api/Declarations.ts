/**
 * The declarations that the package would publish, emitted from the sources as they are into a package of their own, and
 * read by a compiler. What is made of them is no business of this file.
 */
import { execFile } from "node:child_process"
import { copyFile, mkdtemp, readFile, rm, symlink } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import {
  CompilerState,
  Extractor,
  ExtractorConfig,
  ExtractorLogLevel,
  type IConfigFile
} from "@microsoft/api-extractor"
// The compiler of this project has no interface in JavaScript; the one that API Extractor carries does.
import ts from "../../node_modules/@microsoft/api-extractor/node_modules/typescript/lib/typescript.js"

export { ts }

const root = new URL("../..", import.meta.url).pathname

/** The front doors of the package, each with the name that it is imported by. */
export const doors = [
  { file: "index", name: "ricochet-discovery" },
  { file: "testing", name: "ricochet-discovery/testing" }
] as const

export type Door = (typeof doors)[number]

export interface Declarations {
  readonly program: ts.Program
  /** The file of a front door. */
  readonly sourceOf: (door: Door) => ts.SourceFile
  /** The report that API Extractor writes of a front door. */
  readonly reportOf: (door: Door) => Promise<string>
}

const configOf = (directory: string, { file }: Door): ExtractorConfig => {
  const configObject: IConfigFile = {
    projectFolder: directory,
    newlineKind: "lf",
    mainEntryPointFilePath: join(directory, "dist", `${file}.d.ts`),
    compiler: {
      overrideTsconfig: {
        compilerOptions: {
          target: "es2024",
          lib: ["es2024", "esnext.disposable", "dom", "dom.iterable", "dom.asynciterable"],
          module: "nodenext",
          types: ["node"],
          strict: true,
          skipLibCheck: true
        },
        files: doors.map((door) => join(directory, "dist", `${door.file}.d.ts`))
      }
    },
    apiReport: {
      enabled: true,
      reportFileName: file,
      reportFolder: directory,
      reportTempFolder: join(directory, "temp"),
      // The shapes of services and the fields of errors are in constants that are not exported themselves.
      includeForgottenExports: true
    },
    docModel: { enabled: false },
    dtsRollup: { enabled: false },
    tsdocMetadata: { enabled: false },
    messages: {
      extractorMessageReporting: {
        // All that is exported is public, and what is not exported is in the report all the same.
        "ae-missing-release-tag": { logLevel: ExtractorLogLevel.None },
        "ae-forgotten-export": { logLevel: ExtractorLogLevel.None }
      }
    }
  }
  return ExtractorConfig.prepare({
    configObject,
    configObjectFullPath: undefined,
    packageJsonFullPath: join(directory, "package.json")
  })
}

/** Emits and compiles the declarations, and shows them to `use`. */
export const withDeclarations = async <A>(use: (declarations: Declarations) => Promise<A>): Promise<A> => {
  const directory = await mkdtemp(join(tmpdir(), "ricochet-api-"))
  try {
    await copyFile(join(root, "package.json"), join(directory, "package.json"))
    await symlink(join(root, "node_modules"), join(directory, "node_modules"))
    const tsc = join(root, "node_modules/typescript/bin/tsc")
    const options = ["-p", join(root, "src"), "--emitDeclarationOnly", "--outDir", join(directory, "dist")]
    await promisify(execFile)(process.execPath, [tsc, ...options]).catch(({ stdout }) => {
      throw new Error(`no declarations, for the sources do not compile:\n${stdout}`)
    })
    return await use(compile(directory))
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

const compile = (directory: string): Declarations => {
  const configs = new Map(doors.map((door) => [door.file, configOf(directory, door)]))
  const configFor = ({ file }: Door) => configs.get(file) ?? configOf(directory, doors[0])
  const compilerState = CompilerState.create(configFor(doors[0]))
  const program = compilerState.program as ts.Program
  return {
    program,
    sourceOf: ({ file }) => {
      const source = program.getSourceFile(join(directory, "dist", `${file}.d.ts`))
      if (source === undefined) throw new Error(`${file}.d.ts was not emitted`)
      return source
    },
    reportOf: async (door) => {
      Extractor.invoke(configFor(door), {
        compilerState,
        localBuild: true,
        messageCallback: (message) => {
          message.handled = true
        }
      })
      return readFile(join(directory, `${door.file}.api.md`), "utf8")
    }
  }
}
