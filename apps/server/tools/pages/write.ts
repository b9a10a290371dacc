import { writeFile } from "node:fs/promises";
import { generatedPage, PAGES_WITH_TABLES } from "./pages.ts";

for (const page of PAGES_WITH_TABLES) {
  const { file, made } = await generatedPage(page);
  await writeFile(file, made);
}
