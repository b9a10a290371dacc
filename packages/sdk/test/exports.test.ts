import { expect, test } from "vitest";
import * as sdk from "../src/index.ts";

test("the main entry exports what is promised, no more and no less", () => {
  expect(Object.keys(sdk).sort()).toEqual([
    "ApiError",
    "BikeShare",
    "BikeShareError",
    "CheckpointLostError",
    "ConflictError",
    "ConnectionError",
    "ForbiddenError",
    "InvalidRequestError",
    "NotFoundError",
    "RateLimitedError",
    "ServerError",
    "TimeoutError",
    "UnauthorizedError",
    "UnexpectedAnswerError",
    "UsageError",
    "isApiError",
    "isBikeShareError",
  ]);
});
