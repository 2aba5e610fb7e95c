/** Verdicts as a strip of bars, the newest on the right: passed ones low, failed ones high, so that colour is not all. */

const svg = "http://www.w3.org/2000/svg"

/** Height in units of the drawing; a bar is one unit wide, with its gap. */
const height = 10
const passedHeight = 6
const barWidth = 0.72

/**
 * @template {keyof SVGElementTagNameMap} T
 * @param {T} tag
 * @param {Readonly<Record<string, string | number>>} attributes
 * @returns {SVGElementTagNameMap[T]}
 */
const drawn = (tag, attributes) => {
  const made = document.createElementNS(svg, tag)
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value))
  return made
}

/**
 * @param {number} places
 */
const frame = (places) =>
  drawn("svg", { class: "strip", role: "img", viewBox: `0 0 ${places} ${height}`, preserveAspectRatio: "none" })

/** A strip for a row, in two shapes however many verdicts there are. */
export class VerdictStrip {
  static places = 60
  element = frame(VerdictStrip.places)
  #passed = drawn("path", { class: "passed" })
  #failed = drawn("path", { class: "failed" })
  #marks = ""

  constructor() {
    this.element.append(this.#passed, this.#failed)
  }

  /**
   * @param {string} marks as in `recent_verdicts`: + passed, - failed
   * @param {string} label
   */
  draw(marks, label) {
    if (marks === this.#marks) return
    this.#marks = marks
    this.element.setAttribute("aria-label", label)
    const first = VerdictStrip.places - marks.length
    const shapes = { "+": "", "-": "" }
    for (const [index, mark] of [...marks].entries()) {
      if (mark === "+") shapes["+"] += `M${first + index} ${height}h${barWidth}v-${passedHeight}h-${barWidth}z`
      if (mark === "-") shapes["-"] += `M${first + index} ${height}h${barWidth}v-${height}h-${barWidth}z`
    }
    this.#passed.setAttribute("d", shapes["+"])
    this.#failed.setAttribute("d", shapes["-"])
  }
}

/**
 * A strip whose every bar tells its own story on hover.
 *
 * @param {ReadonlyArray<{ readonly ok: boolean, readonly title: string }>} bars
 * @param {number} places
 * @param {string} label
 */
export const toldStrip = (bars, places, label) => {
  const strip = frame(places)
  const isDense = places > VerdictStrip.places
  if (isDense) strip.classList.add("dense")
  strip.setAttribute("aria-label", label)
  for (const [index, { ok, title }] of bars.entries()) {
    const tall = ok ? passedHeight : height
    const [x, y] = [places - bars.length + index, height - tall]
    const group = drawn("g", { class: ok ? "passed" : "failed" })
    const told = drawn("title", {})
    told.textContent = title
    // The whole height is there to be pointed at.
    group.append(
      told,
      drawn("rect", { class: "reach", x, y: 0, width: 1, height }),
      drawn("rect", { x, y, width: isDense ? 1 : barWidth, height: tall })
    )
    strip.append(group)
  }
  return strip
}
