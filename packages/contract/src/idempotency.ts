import { z } from "zod";
import { IDEMPOTENCY_KEY_HOURS, MAX_IDEMPOTENCY_KEY_LENGTH } from "./limits.ts";
import { issueText } from "./messages.ts";

/** The value of the header `Idempotency-Key`. */
export const idempotencyKey = z
  .string()
  // A header sent twice arrives joined by ", ": having no space refuses that too.
  .regex(
    new RegExp(`^[\\x21-\\x7e]{1,${MAX_IDEMPOTENCY_KEY_LENGTH}}$`),
    issueText("visibleAsciiUpTo", { limit: MAX_IDEMPOTENCY_KEY_LENGTH }),
  );

/** The headers of every endpoint that takes an `Idempotency-Key`. Names are in lower case, as Node gives them. */
export const idempotencyHeaders = z.object({
  "idempotency-key": idempotencyKey
    .optional()
    .describe(
      "Makes the request safe to repeat: a new random text for each new request, the same one for each repeat of it. " +
        `The first answer is kept for ${IDEMPOTENCY_KEY_HOURS} hours and given again, with \`Idempotent-Replayed: true\`.`,
    ),
});
