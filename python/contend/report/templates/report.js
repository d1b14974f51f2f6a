// Drawings show their figures in a tooltip, highlight a level, and can be saved. Without this script
// they are plain drawings.
const palette = new Set(JSON.parse(document.body.dataset.palette));
const colourOf = (mark) => ["fill", "stroke"].map((name) => mark.getAttribute(name)).find((one) => palette.has(one));

function make(tag, text, ...children) {
  const element = document.createElement(tag);
  element.textContent = text;
  element.append(...children);
  return element;
}

const box = make("div", "");
box.id = "chart-tooltip";
box.setAttribute("role", "tooltip");
box.hidden = true;
document.body.append(box);

// One row per figure, next to the pointer and inside the window.
function showTooltip(event) {
  const text = event.target.getAttribute?.("data-tooltip");
  box.hidden = !text;
  if (box.hidden) return;
  box.replaceChildren(
    ...text.split("; ").map((row) => {
      const at = row.indexOf(": ");
      return make("div", "", make("span", row.slice(0, at)), make("b", row.slice(at + 2)));
    }),
  );
  const gap = 12;
  const left = Math.min(event.clientX + gap, window.innerWidth - box.offsetWidth - gap);
  const above = event.clientY - box.offsetHeight - gap;
  box.style.left = `${Math.max(gap, left)}px`;
  box.style.top = `${above > gap ? above : event.clientY + gap}px`;
}

// A click on a line, a point or a symbol of the legend dims all other levels; another click undoes it.
function pick(svg, event) {
  const colour = colourOf(event.target);
  const again = !colour || svg.dataset.picked === colour;
  svg.dataset.picked = again ? "" : colour;
  for (const mark of svg.querySelectorAll("[fill], [stroke]")) {
    const own = colourOf(mark);
    mark.style.opacity = again || !own || own === colour ? "" : 0.12;
  }
}

function address(svg) {
  const copy = svg.cloneNode(true);
  const [, , width, height] = svg.getAttribute("viewBox").split(" ");
  const font = { width, height, "font-family": "sans-serif", "font-size": "12px" };
  for (const [name, value] of Object.entries(font)) copy.setAttribute(name, value);
  return `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(copy))}`;
}

function raster(svg) {
  return new Promise((done) => {
    const image = new Image();
    image.onload = () => {
      const canvas = make("canvas", "");
      [canvas.width, canvas.height] = [3 * image.width, 3 * image.height];
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      done(canvas.toDataURL("image/png"));
    };
    image.src = address(svg);
  });
}

for (const chart of document.querySelectorAll(".chart")) {
  const drawings = [...chart.querySelectorAll("svg")];
  const shown = () => drawings.find((one) => one.clientWidth) ?? drawings[0];
  for (const svg of drawings) svg.addEventListener("click", (event) => pick(svg, event));
  const buttons = ["svg", "png"].map((kind) => {
    const button = make("button", `Save as ${kind.toUpperCase()}`);
    button.onclick = async () => {
      const link = make("a", "");
      link.href = kind === "svg" ? address(shown()) : await raster(shown());
      link.download = `${chart.id}.${kind}`;
      link.click();
    };
    return button;
  });
  const summary = make("summary", "⋯");
  summary.title = "Save this chart";
  const menu = make("details", "", summary, ...buttons);
  menu.className = "save";
  chart.append(menu);
}
document.addEventListener("pointermove", showTooltip);
document.addEventListener("pointerdown", showTooltip);

// On paper every part that affects the answer is open.
const closed = () => document.querySelectorAll("details.printed:not([open])");
let opened = [];
window.addEventListener("beforeprint", () => {
  opened = [...closed()];
  for (const one of opened) one.open = true;
});
window.addEventListener("afterprint", () => {
  for (const one of opened) one.open = false;
});
