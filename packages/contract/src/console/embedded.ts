import { z } from "zod";
import { noQuery } from "../endpoint.ts";
import { issueText } from "../messages.ts";
import { consoleBodyErrors, consoleErrors, consoleNeeds } from "./endpoint.ts";
import { consoleSession } from "./session.ts";

/** Sessions in frames of the operator's portal. The link's secret is sent only in bodies, because logs contain URLs. */
export const embeddedSessionEndpoints = {
  begin: {
    method: "POST",
    path: "/console/v1/embedded-sessions",
    summary: "Begin a session by a dashboard link of the operator's portal; each link works once",
    metadata: consoleNeeds("public"),
    query: noQuery,
    body: z.object({ token: z.string().max(100, issueText("tooLong", { limit: 100 })) }).strict(),
    responses: { 200: consoleSession, ...consoleErrors, ...consoleBodyErrors },
  },
} as const;
