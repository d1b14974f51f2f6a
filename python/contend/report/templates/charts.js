// Draws the charts of the page in the reader's colours. The drawings that the page carries are
// what shows without this script, and what stays if a chart cannot be drawn.
const { charts, dark } = window.chartData;
const wantsDark = window.matchMedia("(prefers-color-scheme: dark)");
const box = document.createElement("div");
box.id = "chart-tooltip";
box.setAttribute("role", "tooltip");
document.body.append(box);

function text(tag, words) {
  const element = document.createElement(tag);
  element.textContent = words;
  return element;
}

// A row for each figure, beside the pointer and inside the window.
function tooltip(_handler, event, _item, value) {
  box.hidden = value === null || value === undefined || value === "";
  if (box.hidden) return;
  const rows = Object.entries(value).map(([name, figure]) => {
    const row = document.createElement("div");
    row.append(text("span", name), text("b", figure));
    return row;
  });
  box.replaceChildren(...rows);
  const gap = 12;
  const left = Math.min(event.clientX + gap, window.innerWidth - box.offsetWidth - gap);
  const above = event.clientY - box.offsetHeight - gap;
  box.style.left = `${Math.max(gap, left)}px`;
  box.style.top = `${above > gap ? above : event.clientY + gap}px`;
}

function saver(id, view) {
  const menu = document.createElement("details");
  const summary = text("summary", "⋯");
  summary.title = "Save this chart";
  menu.className = "save";
  menu.append(summary);
  for (const kind of ["svg", "png"]) {
    const button = text("button", `Save as ${kind.toUpperCase()}`);
    button.onclick = async () => {
      const link = document.createElement("a");
      link.href = await view.toImageURL(kind, kind === "png" ? 2 : 1);
      link.download = `${id}.${kind}`;
      link.click();
      menu.open = false;
    };
    menu.append(button);
  }
  return menu;
}

function colours(spec) {
  const light = JSON.stringify(spec);
  return JSON.parse(wantsDark.matches ? light.replace(/#[0-9a-f]{6}/g, (c) => dark[c] ?? c) : light);
}

async function drawOne(id, spec) {
  const place = document.getElementById(id);
  const canvas = document.createElement("div");
  const width = Math.max(260, Math.floor(place.clientWidth));
  const view = new View(parse({ ...colours(spec), width }), {
    renderer: "svg",
    container: canvas,
    hover: true,
    tooltip,
  });
  await view.runAsync();
  place.replaceChildren(canvas, saver(id, view));
}

let drawing = 0;
async function draw() {
  const mine = ++drawing;
  for (const [id, spec] of Object.entries(charts)) {
    try {
      await drawOne(id, spec);
    } catch (error) {
      console.error(`chart ${id}: ${error.message}`);
    }
    // Between two charts the page answers its reader.
    await new Promise((done) => setTimeout(done));
    if (mine !== drawing) return;
  }
  document.documentElement.dataset.charts = "drawn";
  document.documentElement.classList.remove("live");
}

let drawnWidth = window.innerWidth;
let pending = 0;
function redraw() {
  clearTimeout(pending);
  pending = setTimeout(draw, 150);
}

draw();
wantsDark.addEventListener("change", redraw);
window.addEventListener("resize", () => {
  if (window.innerWidth !== drawnWidth) {
    drawnWidth = window.innerWidth;
    redraw();
  }
});
