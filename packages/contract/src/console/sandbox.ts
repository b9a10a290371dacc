import { z } from "zod";
import { noQuery } from "../endpoint.ts";
import { sandboxScenario, sandboxStatus, scenarioNames } from "../sandbox-resources.ts";
import { changeErrors, consoleBodyErrors, consoleErrors, consoleNeeds, partnerPath } from "./endpoint.ts";

const PATH = "/console/v1/systems/:system_id/partners/:partner_id/sandbox";

const played = sandboxScenario.omit({ key: true });

/** A partner's sandbox. It is created from the pages of the partner's own system, and used from the pages of its own. */
export const partnerSandboxEndpoints = {
  show: {
    method: "GET",
    path: PATH,
    summary: "The partner's sandbox",
    metadata: consoleNeeds("partner"),
    pathParams: partnerPath,
    query: noQuery,
    responses: { 200: z.object({ sandbox: sandboxStatus.nullable() }).strict(), ...consoleErrors },
  },
  create: {
    method: "POST",
    path: PATH,
    summary: "Make the partner's sandbox, unless it has one",
    metadata: consoleNeeds("partner", "admin", { conflicts: ["conflict"] }),
    pathParams: partnerPath,
    query: noQuery,
    body: z.object({}).strict(),
    responses: { 200: sandboxStatus, ...changeErrors },
  },
  play: {
    method: "POST",
    path: `${PATH}/scenarios/:name`,
    summary: "Play a scenario",
    metadata: consoleNeeds("partner", "admin", {
      conflicts: [
        "no_bike_available",
        "bike_not_available",
        "station_offline",
        "too_many_reservations",
        "sandbox_full",
      ],
    }),
    pathParams: partnerPath.extend({ name: z.enum(scenarioNames) }),
    query: noQuery,
    body: z.object({}).strict(),
    responses: { 200: played, ...changeErrors },
  },
  reset: {
    method: "POST",
    path: `${PATH}/reset`,
    summary: "Make the city anew",
    metadata: consoleNeeds("partner", "admin"),
    pathParams: partnerPath,
    query: noQuery,
    body: z.object({}).strict(),
    responses: { 200: sandboxStatus, ...consoleErrors, ...consoleBodyErrors },
  },
} as const;
