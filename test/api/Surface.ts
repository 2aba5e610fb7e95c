/**
 * What the front doors export, as nouns: each export with its signature, its docstring and its members. It reads
 * declarations, and knows nothing of how they are shown.
 */
import { type Declarations, type Door, ts } from "./Declarations.ts"

/** A part of an export that a caller reads or calls. */
export interface Member {
  readonly name: string
  readonly signature: string
  /** As it was written; empty where there is none. */
  readonly doc: string
  /** Fields of an error are its facts and speak for themselves; all else must be documented. */
  readonly isField: boolean
}

export interface Export {
  /** The name that it is used by, such as `Discovery.layer`. */
  readonly path: string
  readonly kind: "class" | "constant" | "function" | "interface" | "namespace" | "type"
  readonly signature: string
  readonly doc: string
  readonly members: ReadonlyArray<Member>
}

const printer = ts.createPrinter({ removeComments: true, omitTrailingSemicolon: true })

const print = (node: ts.Node): string =>
  printer
    .printNode(ts.EmitHint.Unspecified, node, node.getSourceFile())
    .replace(/^(export )?(declare )?/, "")
    .replace(/import\("[^"]*"\)\./g, "")

/** The comment that a file opens with. */
export const openingOf = (source: ts.SourceFile): string => {
  const [range] = ts.getLeadingCommentRanges(source.text, 0) ?? []
  const comment = range === undefined ? "" : source.text.slice(range.pos, range.end)
  return comment.replace(/^\/\*\*\s*|\s*\*\/$/g, "").replace(/^ *\* ?/gm, "")
}

const onOneLine = (text: string): string => text.replace(/\s*\n\s*/g, " ").replace(/;(?= \})|;$/g, "")

export interface Surface {
  /** What the front door says of itself. */
  readonly doc: string
  /** In the order of the names; what is in a namespace comes after it. */
  readonly exports: ReadonlyArray<Export>
}

/** What every error has, `exitCode` every one that stops a start, and what needs no word at each. */
const everyErrors: ReadonlySet<string> = new Set(["exitCode", "message", "name"])

/** Everything that a front door exports. */
export const surfaceOf = ({ program, sourceOf }: Declarations, door: Door): Surface => {
  const checker = program.getTypeChecker()
  const docOf = (symbol: ts.Symbol) => ts.displayPartsToString(symbol.getDocumentationComment(checker))
  const meantBy = (symbol: ts.Symbol) =>
    symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol

  const member =
    (isField: boolean) =>
    (node: ts.TypeElement | ts.ClassElement): ReadonlyArray<Member> => {
      const symbol = node.name && checker.getSymbolAtLocation(node.name)
      if (symbol === undefined || node.name === undefined || ts.isPrivateIdentifier(node.name)) return []
      return [{ name: symbol.name, signature: onOneLine(print(node)), doc: docOf(symbol), isField }]
    }

  /** The members that a type names: those of a literal, or of the interface that is referred to. */
  const membersOf = (type: ts.TypeNode | undefined): ReadonlyArray<Member> => {
    if (type === undefined) return []
    if (ts.isTypeLiteralNode(type)) return type.members.flatMap(member(false))
    if (!ts.isTypeReferenceNode(type)) return []
    const symbol = checker.getSymbolAtLocation(type.typeName)
    const declarations = symbol === undefined ? [] : (meantBy(symbol).declarations ?? [])
    return declarations.flatMap((node) => (ts.isInterfaceDeclaration(node) ? node.members.flatMap(member(false)) : []))
  }

  /** A service's shape is the third argument of its base, an error's facts are in the second. */
  const inherited = (base: ts.Expression): ReadonlyArray<Member> => {
    const declaration = checker.getSymbolAtLocation(base)?.valueDeclaration
    const type = declaration && ts.isVariableDeclaration(declaration) ? declaration.type : undefined
    if (type === undefined || !ts.isTypeReferenceNode(type)) return []
    const [, second, third] = type.typeArguments ?? []
    if (type.typeName.getText().endsWith("ServiceClass")) return membersOf(third)
    const fields = second && ts.isTypeReferenceNode(second) ? (second.typeArguments?.at(-1) ?? second) : second
    return fields && ts.isTypeLiteralNode(fields) ? fields.members.flatMap(member(true)) : []
  }

  const declared = (path: string, symbol: ts.Symbol, node: ts.Declaration): ReadonlyArray<Export> => {
    const [doc, name] = [docOf(symbol), path.split(".").at(-1) ?? path]
    if (ts.isInterfaceDeclaration(node)) {
      const heritage = (node.heritageClauses ?? []).map((clause) => ` ${print(clause)}`).join("")
      const parameters = node.typeParameters?.map(print).join(", ")
      const signature = `interface ${name}${parameters === undefined ? "" : `<${parameters}>`}${heritage}`
      return [{ path, kind: "interface", signature, doc, members: node.members.flatMap(member(false)) }]
    }
    if (ts.isClassDeclaration(node)) {
      const bases = (node.heritageClauses ?? []).flatMap(({ types }) => types.map(({ expression }) => expression))
      const own = node.members.flatMap(member(false)).filter(({ name }) => !everyErrors.has(name))
      const members = [...bases.flatMap(inherited), ...own]
      return [{ path, kind: "class", signature: `class ${name}`, doc, members }]
    }
    if (ts.isFunctionDeclaration(node)) return [{ path, kind: "function", signature: print(node), doc, members: [] }]
    if (ts.isTypeAliasDeclaration(node)) return [{ path, kind: "type", signature: print(node), doc, members: [] }]
    if (ts.isVariableDeclaration(node)) {
      const kind = node.type && ts.isFunctionTypeNode(node.type) ? "function" : "constant"
      return [{ path, kind, signature: `const ${print(node)}`, doc, members: [] }]
    }
    throw new Error(`${path} is of a kind that the reference does not know`)
  }

  const exportsOf = (module: ts.Symbol, prefix: string): ReadonlyArray<Export> =>
    checker
      .getExportsOfModule(module)
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .flatMap((exported) => {
        const [path, symbol] = [prefix + exported.name, meantBy(exported)]
        const declarations = symbol.declarations ?? []
        return declarations.flatMap((node): ReadonlyArray<Export> => {
          if (!ts.isSourceFile(node)) return declared(path, symbol, node)
          const namespace = { path, kind: "namespace", signature: `namespace ${path}`, members: [] } as const
          return [{ ...namespace, doc: openingOf(node) }, ...exportsOf(symbol, `${path}.`)]
        })
      })
  const source = sourceOf(door)
  const module = checker.getSymbolAtLocation(source)
  return { doc: openingOf(source), exports: module === undefined ? [] : exportsOf(module, "") }
}

/** What has no docstring, by the name that it is used by. */
export const undocumented = ({ exports }: Surface): ReadonlyArray<string> =>
  exports.flatMap(({ path, doc, members }) => [
    ...(doc === "" ? [path] : []),
    ...members.filter((member) => member.doc === "" && !member.isField).map(({ name }) => `${path}#${name}`)
  ])
