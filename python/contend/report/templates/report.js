// Draws the charts of the page in the reader's colours. The drawings that the page carries are
// what shows without this script, and what stays where a chart cannot be drawn.
const data = JSON.parse(document.getElementById("chart-data").textContent);
const dark = window.matchMedia("(prefers-color-scheme: dark)");

async function draw(theme) {
  for (const [id, spec] of Object.entries(data.charts)) {
    const place = document.getElementById(id);
    const width = Math.max(260, Math.floor(place.clientWidth));
    const sized = { ...spec, width, autosize: { type: "fit", contains: "padding" } };
    const options = {
      mode: "vega-lite",
      renderer: "svg",
      config: data.themes[theme],
      actions: { export: true, source: false, compiled: false, editor: false },
      downloadFileName: id,
      tooltip: { theme },
    };
    const drawing = place.querySelector(":scope > svg");
    try {
      await vegaEmbed(place, sized, options);
    } catch (error) {
      if (drawing) place.replaceChildren(drawing);
      console.error(`chart ${id}: ${error.message}`);
    }
  }
  document.documentElement.dataset.charts = "drawn";
}

function current() {
  return dark.matches ? "dark" : "light";
}

let drawnWidth = window.innerWidth;
let pending = 0;
function redraw(theme) {
  clearTimeout(pending);
  pending = setTimeout(() => draw(theme), 150);
}

document.documentElement.classList.add("live");
draw(current()).finally(() => document.documentElement.classList.remove("live"));
dark.addEventListener("change", () => redraw(current()));
window.addEventListener("resize", () => {
  if (window.innerWidth !== drawnWidth) {
    drawnWidth = window.innerWidth;
    redraw(current());
  }
});

// On paper everything is open. Charts keep the screen's colours, so the page prints best in light.
let opened = [];
window.addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("details:not([open]):not(.vega-actions)")].filter(
    (one) => !one.closest(".chart"),
  );
  for (const one of opened) one.open = true;
});
window.addEventListener("afterprint", () => {
  for (const one of opened) one.open = false;
});
