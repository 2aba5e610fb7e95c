/** `/docs`: the API for people, as one page made of its definition. It loads nothing from anywhere. */
import { createHash } from "node:crypto"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { OpenApi } from "effect/http-api"
import { OpsApi } from "./OpsApi.ts"

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;"
}
const inHtml = (text: string) => text.replace(/[&<>"']/g, (character) => entities[character] ?? "")

const style = `:root{color-scheme:light dark}body{font:1rem/1.5 system-ui,sans-serif;max-width:56rem;margin:2rem auto;padding:0 1rem}
h2{margin:2.5rem 0 .25rem;font-size:1.1rem}code{font-family:ui-monospace,monospace}table{border-collapse:collapse;width:100%}
td,th{text-align:left;vertical-align:top;padding:.25rem 1rem .25rem 0;border-bottom:1px solid #8884}th{font-weight:600}`

interface Operation {
  readonly summary?: string
  readonly description?: string
  readonly parameters: ReadonlyArray<{
    readonly name: string
    readonly in: string
    readonly required: boolean
    readonly description?: string
    readonly schema: object
  }>
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: object }>>
}

const descriptionIn = (schema: object): string =>
  "description" in schema && typeof schema.description === "string" ? schema.description : ""

const table = (head: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const row = (cells: ReadonlyArray<string>, tag: "td" | "th") =>
    `<tr>${cells.map((cell) => `<${tag}>${inHtml(cell)}</${tag}>`).join("")}</tr>`
  return rows.length === 0 ? "" : `<table>${row(head, "th")}${rows.map((cells) => row(cells, "td")).join("")}</table>`
}

const section = (path: string, operation: Operation): string => {
  const parameters = operation.parameters.map(({ description, in: where, name, schema }) => [
    name,
    where,
    description ?? descriptionIn(schema)
  ])
  const answers = Object.entries(operation.responses).map(([status, { content, description }]) => [
    status,
    Object.keys(content ?? {}).join(", "),
    description
  ])
  return `<h2><code>GET ${inHtml(path)}</code></h2><p>${inHtml(operation.summary ?? "")}. ${inHtml(operation.description ?? "")}</p>
${table(["Parameter", "In", "What it says"], parameters)}${table(["Answer", "Media type", "Meaning"], answers)}`
}

/** The page, made of the API's OpenAPI document. */
export const page = (): string => {
  const { info, paths } = OpenApi.fromApi(OpsApi)
  const sections = Object.entries(paths).flatMap(([path, { get }]) => (get ? [section(path, get as Operation)] : []))
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${inHtml(info.title)}</title><style>${style}</style></head><body><h1>${inHtml(info.title)}</h1>
<p>${inHtml(info.description ?? "")} The same for programs: <a href="/openapi.json"><code>/openapi.json</code></a>.</p>
${sections.join("\n")}</body></html>
`
}

const styleHash = createHash("sha256").update(style).digest("base64")

export const layer = HttpRouter.add(
  "GET",
  "/docs",
  HttpServerResponse.text(page(), {
    contentType: "text/html; charset=utf-8",
    headers: {
      "content-security-policy": `default-src 'none'; style-src 'sha256-${styleHash}'; frame-ancestors 'none'`
    }
  })
)
