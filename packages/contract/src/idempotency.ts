import { z } from "zod";
import { IDEMPOTENCY_KEY_HOURS } from "./limits.ts";
import { textOf } from "./values.ts";

/** The value of the header `Idempotency-Key`. */
export const idempotencyKey = textOf("idempotencyKey");

/** The headers of every endpoint that takes an `Idempotency-Key`. Names are in lower case, as Node gives them. */
export const idempotencyHeaders = z.object({
  "idempotency-key": idempotencyKey
    .optional()
    .describe(
      "Makes the request safe to repeat: a new random text for each new request, the same one for each repeat of it. " +
        `The first answer is kept for ${IDEMPOTENCY_KEY_HOURS} hours and given again, with \`Idempotent-Replayed: true\`.`,
    ),
});
