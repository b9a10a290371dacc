/** The theme: light or dark, as the reader chose on this device or as the system prefers. */
import { readStored, store } from "./device-storage.ts";

export type Theme = "system" | "light" | "dark";

const STORAGE_KEY = "bikeshare.theme";

export function readTheme(): Theme {
  const stored = readStored(STORAGE_KEY);
  return stored === "light" || stored === "dark" ? stored : "system";
}

export function chooseTheme(theme: Theme): void {
  store(STORAGE_KEY, theme === "system" ? undefined : theme);
  applyTheme(theme);
}

export function applyTheme(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
}
