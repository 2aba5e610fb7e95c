/**
 * The web page at `/`, for people: static files of this package, read once at the start. It loads nothing from
 * elsewhere, and the browser is told to let it do nothing else.
 */
import { readdirSync, readFileSync } from "node:fs"
import { extname } from "node:path"
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"

const directory = new URL("page/", import.meta.url)

const contentTypes: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml"
}

/** What the page may do: run, look and ask as this server has it, and no markup out of text (I10). */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'"
].join("; ")

const headers = { "content-security-policy": policy }

const fileRoute = (name: string) => {
  const contentType = contentTypes[extname(name)]
  if (contentType === undefined) return Layer.empty
  const body = HttpServerResponse.uint8Array(readFileSync(new URL(name, directory)), { contentType, headers })
  return HttpRouter.add("GET", name === "page.html" ? "/" : `/page/${name}`, body)
}

export const layer = Layer.unwrap(
  Effect.sync(() => Layer.mergeAll(Layer.empty, ...readdirSync(directory).map(fileRoute)))
)
