/** How anything gets into the document: as elements and text, never as markup, so strangers' words stay words (I10). */

/**
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {string} [className]
 * @param {ReadonlyArray<Node | string>} [children]
 * @returns {HTMLElementTagNameMap[T]}
 */
export const element = (tag, className = "", children = []) => {
  const made = document.createElement(tag)
  if (className !== "") made.className = className
  made.append(...children)
  return made
}

/**
 * The element of that id, which page.html has.
 *
 * @template {HTMLElement} T
 * @param {string} id
 * @param {new () => T} type
 * @returns {T}
 */
export const byId = (id, type) => {
  const found = document.getElementById(id)
  if (!(found instanceof type)) throw new Error(`page.html has no ${type.name} called ${id}`)
  return found
}

/**
 * Writes only what differs: most of what is drawn again has not changed.
 *
 * @param {Element} target
 * @param {string} text
 */
export const setText = (target, text) => {
  if (target.textContent !== text) target.textContent = text
}

/**
 * @param {Element} target
 * @param {string} name
 * @param {string} value
 */
export const setAttribute = (target, name, value) => {
  if (target.getAttribute(name) !== value) target.setAttribute(name, value)
}

/**
 * Other children for a target. Who has the focus on a link in it keeps it, if there is such a link again.
 *
 * @param {Element} target
 * @param {ReadonlyArray<Node | string>} children
 */
export const fill = (target, children) => {
  const focused = target.contains(document.activeElement) ? document.activeElement?.getAttribute("href") : undefined
  const open = new Set([...target.querySelectorAll("details[open]")].map(({ id }) => id))
  target.replaceChildren(...children)
  for (const details of target.querySelectorAll("details")) details.open ||= open.has(details.id)
  if (!focused) return
  for (const link of target.querySelectorAll("a")) {
    if (link.getAttribute("href") === focused) return link.focus({ preventScroll: true })
  }
}

const live = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\p{Bidi_Control}]/gu

/**
 * Strangers' text with what would turn the reading direction spelt out (R5).
 *
 * @param {string} text
 */
export const inert = (text) => text.replace(live, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)

/**
 * Names and what they hold, as a list. What is undefined is left out.
 *
 * @param {ReadonlyArray<readonly [string, Node | string | undefined]>} pairs
 */
export const facts = (pairs) =>
  element(
    "dl",
    "facts",
    pairs.flatMap(([name, value]) =>
      value === undefined ? [] : [element("div", "", [element("dt", "", [name]), element("dd", "", [value])])]
    )
  )

/** What is common to all peer IDs of Ed25519 keys comes first in them. @param {string} id */
const shorter = (id) => (id.length > 24 ? `${id.slice(0, 12)}…${id.slice(-6)}` : id)

/**
 * A peer ID, short, as a link to all that is known of it.
 *
 * @param {string} id
 */
export const linkTo = (id) => {
  const link = element("a", "id")
  point(link, id)
  return link
}

/**
 * @param {HTMLAnchorElement} link
 * @param {string} id
 */
export const point = (link, id) => {
  setAttribute(link, "href", `#/${encodeURIComponent(id)}`)
  setAttribute(link, "title", inert(id))
  setText(link, inert(shorter(id)))
}

/**
 * One text a line, as written.
 *
 * @param {ReadonlyArray<string>} texts
 */
export const lines = (texts) => {
  const items = texts.map((text) => element("li", "code", [inert(text)]))
  return items.length === 0 ? "none" : element("ul", "lines", items)
}
