// Light, dark, or as the system has it. Only a choice is kept, and only in this browser.

import { $ } from "./dom.js";

const KEY = "baton-theme", NAMES = ["system", "light", "dark"];

function kept() {
  try {
    return localStorage.getItem(KEY) ?? "system";
  } catch {
    return "system"; // the browser keeps nothing for this page
  }
}

function keep(name) {
  try {
    if (name === "system") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, name);
  } catch {
    // the choice then lasts as long as the page
  }
}

function apply(name) {
  document.documentElement.dataset.theme = name;
  $("theme").textContent = { system: "Auto", light: "Light", dark: "Dark" }[name];
  $("theme").title = "Colours: system, light, dark";
  $("theme").setAttribute("aria-label", `Colours: ${name}`);
}

export function initTheme() {
  let name = NAMES.includes(kept()) ? kept() : "system";
  apply(name);
  $("theme").addEventListener("click", () => {
    name = NAMES[(NAMES.indexOf(name) + 1) % NAMES.length];
    keep(name);
    apply(name);
  });
}
