/** The theme: light or dark, as the reader chose on this device or as the system prefers. */
import { readStored, store } from "./device-storage.ts";

/** `system`: as the operating system prefers. */
export type Theme = "system" | "light" | "dark";

const STORAGE_KEY = "bikeshare.theme";

/** Returns the theme that the reader chose on this device; `system` if none. */
export function readTheme(): Theme {
  const stored = readStored(STORAGE_KEY);
  return stored === "light" || stored === "dark" ? stored : "system";
}

/** Stores a theme for this device, and shows it. */
export function chooseTheme(theme: Theme): void {
  store(STORAGE_KEY, theme === "system" ? undefined : theme);
  applyTheme(theme);
}

/** Shows a theme. The styles in tokens.css read the attribute. */
export function applyTheme(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
}
