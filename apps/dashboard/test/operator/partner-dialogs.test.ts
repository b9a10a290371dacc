import { expect, it } from "vitest";
import { ApiError } from "../../src/api/errors.ts";
import { isNameTaken } from "../../src/pages/operator/partner-dialogs.tsx";

const conflict = (message: string, code = "conflict") =>
  new ApiError(message, { status: 409, code, requestId: undefined, retryAfterSeconds: undefined });

it("a conflict is an error of the name if another partner has that name", () => {
  expect(isNameTaken(conflict('Partner partner_1 has the name "Bike Club". Choose another.'))).toBe(true);
});

it("a removed partner, a sandbox and every other failure are no errors of the name", () => {
  const others = [
    conflict("Partner partner_1 was removed 2026-11-26T08:00:00.000Z, for good."),
    conflict(
      "System sandbox is a sandbox, which has the partner whose sandbox it is and no other. Name another system.",
    ),
    conflict("Nobody has the name.", "not_found"),
    new Error("Nobody has the name."),
  ];
  expect(others.filter((failure) => isNameTaken(failure))).toEqual([]);
});
