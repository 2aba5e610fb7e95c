/** What the reader wants to see of the servers: state, text, region, capability. */
import { byId, element, inert, setText } from "./Elements.js"

/** @typedef {import("./Servers.js").Filter} Filter */
/** @typedef {import("./Words.js").Counts} Counts */

export class Filters {
  #states = byId("states", HTMLFieldSetElement)
  #text = byId("text", HTMLInputElement)
  #region = byId("region", HTMLSelectElement)
  #capability = byId("capability", HTMLSelectElement)

  /** @param {() => void} onChange */
  constructor(onChange) {
    for (const control of [this.#states, this.#text, this.#region, this.#capability]) {
      control.addEventListener("input", onChange)
    }
    document.addEventListener("keydown", (event) => {
      const isTyping = event.target instanceof Element && event.target.matches("input:not([type=radio]), select")
      if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return
      if (document.querySelector("dialog[open]") !== null) return
      event.preventDefault()
      this.#text.focus()
      this.#text.select()
    })
  }

  /** @returns {Filter} */
  get wanted() {
    return {
      text: this.#text.value.trim(),
      state: this.#states.querySelector("input:checked")?.getAttribute("value") ?? "",
      region: this.#region.value,
      capability: this.#capability.value
    }
  }

  /** @param {Counts} counts */
  setCounts(counts) {
    const all = counts.available + counts.unhealthy + counts.stopped + counts.silent
    for (const { checked, labels, value } of this.#states.querySelectorAll("input")) {
      const target = labels?.[0]?.querySelector("b")
      const count = value === "" ? all : counts[/** @type {keyof Counts} */ (value)]
      if (target) setText(target, String(count))
      // Most networks have nobody to show under it most of the time.
      if (value === "stopped" && labels?.[0]) labels[0].hidden = count === 0 && !checked
    }
  }

  /** @param {{ readonly regions: ReadonlyArray<string>, readonly capabilities: ReadonlyArray<string> }} offers */
  setOffers({ capabilities, regions }) {
    offer(this.#region, regions)
    offer(this.#capability, capabilities)
  }
}

/**
 * The first option, which is any, and these. What is chosen stays chosen, though nobody has it any more.
 *
 * @param {HTMLSelectElement} select
 * @param {ReadonlyArray<string>} values
 */
const offer = (select, values) => {
  const { value } = select
  const all = value === "" || values.includes(value) ? values : [...values, value]
  const given = [...select.options].slice(1).map((option) => option.value)
  if (given.length === all.length && given.every((one, index) => one === all[index])) return
  const options = all.map((one) => {
    const option = element("option", "", [inert(one)])
    option.value = one
    return option
  })
  select.replaceChildren(...[...select.options].slice(0, 1), ...options)
  select.value = value
}
