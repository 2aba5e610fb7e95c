// Put into the page before its own script: what only the page itself can measure.

/** @param {string} color */
const channels = (color) => (color.match(/[\d.]+/g) ?? []).map(Number)

/** Relative luminance, as WCAG 2 defines it. @param {ReadonlyArray<number>} rgb */
const luminance = (rgb) => {
  const [red, green, blue] = rgb.map((value) => {
    const share = value / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/** The background that an element is seen on. @param {Element | null} element */
const groundOf = (element) => {
  for (let at = element; at !== null; at = at.parentElement) {
    const rgba = channels(getComputedStyle(at).backgroundColor)
    if (rgba.length === 3 || rgba[3] === 1) return rgba.slice(0, 3)
  }
  return [255, 255, 255]
}

globalThis.probe = {
  /** The contrast of the text of an element with what is behind it: 1 to 21. @param {string} selector */
  contrast: (selector) => {
    const element = document.querySelector(selector)
    const text = luminance(channels(getComputedStyle(element).color).slice(0, 3))
    const ground = luminance(groundOf(element))
    return (Math.max(text, ground) + 0.05) / (Math.min(text, ground) + 0.05)
  },
  /** Controls and pictures that have nothing to call them by. */
  nameless: () =>
    [...document.querySelectorAll("button, a, input, select, svg[role=img], dialog, section")]
      .filter(
        (element) =>
          !(
            element.textContent?.trim() ||
            element.getAttribute("aria-label") ||
            element.getAttribute("aria-labelledby") ||
            element.labels?.length
          )
      )
      .map((element) => element.outerHTML),
  /** The cells of the first row that have no room, or lie outside the window or their row. */
  lostCells: () => {
    const row = document.querySelector("#rows tr")
    const { bottom } = row.getBoundingClientRect()
    return [...row.cells]
      .filter((cell) => {
        const box = cell.getBoundingClientRect()
        return box.width * box.height === 0 || box.left < 0 || box.right > innerWidth || box.bottom > bottom
      })
      .map((cell) => cell.className)
  },
  /** How far the page is wider than its window. */
  overhang: () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
  /** What moved or was added since the last look, in pieces: one for each time something was drawn. */
  draws: 0
}

new MutationObserver(() => {
  globalThis.probe.draws += 1
}).observe(document, { childList: true, subtree: true, characterData: true })
