// Runs before anything is drawn, so that a dark page never flashes white.
(() => {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const remembered = () => {
    try {
      return localStorage.getItem("erukg-theme");
    } catch {
      return null; // storage is off, as it may be for a file opened from disk
    }
  };
  const apply = () => {
    root.dataset.theme = remembered() ?? (system.matches ? "dark" : "light");
  };
  apply();
  system.addEventListener("change", apply);
  addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const show = () => button.setAttribute("aria-pressed", String(root.dataset.theme === "dark"));
    show();
    system.addEventListener("change", show);
    button.addEventListener("click", () => {
      root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
      try {
        localStorage.setItem("erukg-theme", root.dataset.theme);
      } catch {
        // It lasts until the page is closed.
      }
      show();
    });
  });
})();
