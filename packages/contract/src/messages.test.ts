import { expect, expectTypeOf, test } from "vitest";
import { errorMessages } from "./error-messages.ts";
import { errorMessage, type MessageArguments } from "./messages.ts";

const templates = Object.entries(errorMessages).flatMap(([code, messages]) =>
  Object.values<string>(messages).map((template) => [code, template] as const),
);

test("a message has the values of the case in place of its placeholders, to the character", () => {
  const message = errorMessage("bike_not_available", "reported", { id: "$&{state}", state: "lost" });
  expect(message).toBe("Bike $&{state} is lost.");
});

test("a code without messages says what happened and what to do", () => {
  expect(errorMessage("station_offline")).toBe(
    "The station does not rent out bikes at present. Choose another station.",
  );
  expect(errorMessage("internal")).not.toContain("`");
});

test("the type asks for a message of the code and for its values", () => {
  expectTypeOf<["station"]>().toExtend<MessageArguments<"not_found">>();
  expectTypeOf<["namedStation", { id: string }]>().toExtend<MessageArguments<"not_found">>();
  expectTypeOf<["namedStation"]>().not.toExtend<MessageArguments<"not_found">>();
  expectTypeOf<["namedStation", { name: string }]>().not.toExtend<MessageArguments<"not_found">>();
  expectTypeOf<["state", { state: string }]>().not.toExtend<MessageArguments<"not_found">>();
  expectTypeOf<[]>().not.toExtend<MessageArguments<"not_found">>();
  expectTypeOf<[]>().toExtend<MessageArguments<"station_offline">>();
});

test.each(templates)("a message of %s is a whole sentence: %s", (_code, template) => {
  expect(template).toMatch(/^[A-Za-z{].*\.$/);
  expect(template.replaceAll(/\{\w+\}/g, "")).not.toMatch(/[{}`]/);
});

test("no message stands twice under one code", () => {
  expect(new Set(templates.map(String)).size).toBe(templates.length);
});
