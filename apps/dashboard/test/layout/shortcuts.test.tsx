import { expect, it } from "vitest";
import { Filters } from "../../src/components/filters.tsx";
import { focusFilter } from "../../src/layout/shortcuts.tsx";
import { renderIn } from "../fake-document.ts";

const filters = ["Status", "Station", "Bike"].map((label) => ({ name: label.toLowerCase(), label }));

/** Presses the key `/` in a list with these filters set. @returns whether it did something, and the buttons it pressed */
function pressSlash(values: Readonly<Record<string, string>>) {
  const body = renderIn(
    <main>
      <Filters label="Rides" filters={filters} values={values} onChange={() => undefined} />
    </main>,
  );
  const isDone = focusFilter();
  const pressed = body.querySelectorAll("button").filter(({ clicks }) => clicks > 0);
  return { isDone, pressed: pressed.map(({ textContent }) => textContent.trim()) };
}

it.each([
  ["all filters are", {}],
  ["two filters are", { status: "ended" }],
  ["one filter is", { status: "ended", station: "12" }],
])("the key / adds a filter while %s left to add", (_, values) => {
  expect(pressSlash(values)).toEqual({ isDone: true, pressed: ["Filter"] });
});

it("the key / is left to the browser where every filter is set", () => {
  expect(pressSlash({ status: "ended", station: "12", bike: "7" })).toEqual({ isDone: false, pressed: [] });
});
