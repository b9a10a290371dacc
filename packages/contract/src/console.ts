/**
 * What the pages of the dashboard ask of the server, with a session instead of a key. Not a part of the partners' or the
 * operator's interface: it changes with the pages, and stands in no OpenAPI document.
 */
import { initContract } from "@ts-rest/core";
import { invitationEndpoints, sessionEndpoints, signInEndpoints } from "./console/session.ts";

export { consoleNeeds } from "./console/endpoint.ts";
export * from "./console/session.ts";

const c = initContract();

/** Every endpoint of the console. */
export const consoleContract = c.router(
  {
    session: sessionEndpoints,
    signIn: signInEndpoints,
    invitations: invitationEndpoints,
  },
  { strictStatusCodes: true },
);
