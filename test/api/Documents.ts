/** The checked-in documents of what the package exports, and what they should be: reports for reviewers, a page for users. */
import { type Declarations, doors } from "./Declarations.ts"
import { reference } from "./Reference.ts"
import { surfaceOf } from "./Surface.ts"

export interface Document {
  readonly path: string
  readonly text: string
}

export const documents = async (declarations: Declarations): Promise<ReadonlyArray<Document>> => {
  const surfaces = doors.map((door) => ({ name: door.name, surface: surfaceOf(declarations, door) }))
  const reports = doors.map(async (door) => ({
    path: `test/api/${door.file}.api.md`,
    text: await declarations.reportOf(door)
  }))
  return [...(await Promise.all(reports)), { path: "src/library/REFERENCE.md", text: reference(surfaces) }]
}
