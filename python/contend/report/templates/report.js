// Unpacks the script that draws the charts, after the page has been painted without it.
const packed = document.getElementById("chart-script");

async function unpack() {
  const bytes = Uint8Array.from(atob(packed.textContent), (one) => one.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const script = document.createElement("script");
  script.textContent = await new Response(stream).text();
  document.body.append(script);
}

if (packed && window.DecompressionStream) {
  document.documentElement.classList.add("live");
  requestAnimationFrame(() => setTimeout(() => unpack().catch(console.error)));
}

// On paper everything is open. Charts keep the screen's colours, so the page prints best in light.
let opened = [];
window.addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("details:not([open]):not(.save)")];
  for (const one of opened) one.open = true;
});
window.addEventListener("afterprint", () => {
  for (const one of opened) one.open = false;
});
