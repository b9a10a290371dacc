import type { Consumer } from "./consumer.ts";
import { google } from "./google.rules.ts";
import { lamassu } from "./lamassu.rules.ts";
import { motis } from "./motis.rules.ts";
import { otp } from "./otp.rules.ts";

/** Every consumer whose rules are known. */
export const consumers: readonly Consumer[] = [lamassu, otp, motis, google];
