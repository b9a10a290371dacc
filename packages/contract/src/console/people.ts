import { z } from "zod";
import { noQuery } from "../endpoint.ts";
import { errorBody } from "../errors.ts";
import { identifier, identifierParam, timestamp } from "../values.ts";
import { consoleBodyErrors, consoleErrors, consoleNeeds, done, partnerPath, systemPath } from "./endpoint.ts";
import { emailAddress, membershipRole } from "./session.ts";

/** The members of a partner or of the operator, and their invitations. */
export const memberList = z
  .object({
    members: z.array(
      z
        .object({
          id: identifier.describe("The membership's id"),
          person_id: identifier,
          email: z.string(),
          name: z.string(),
          role: membershipRole,
          joined_at: timestamp,
          last_used_at: timestamp
            .nullable()
            .describe("When the person last used the dashboard, accurate to a quarter of an hour"),
        })
        .strict(),
    ),
    invitations: z.array(
      z
        .object({
          id: identifier,
          email: z.string(),
          role: membershipRole,
          invited_by: z.string().describe("Who invited the person, as in the audit log"),
          expires_at: timestamp,
        })
        .strict(),
    ),
  })
  .strict();
export type MemberList = z.infer<typeof memberList>;

export const issuedInvitation = z
  .object({
    id: identifier,
    email: z.string(),
    expires_at: timestamp,
    url: z.string().nullable().describe("The link, shown only now; null: it was mailed to the invited person"),
    proves_address: z
      .boolean()
      .describe("True: opening the link proves the address. False if a partner's admin has seen the link"),
  })
  .strict();
export type IssuedInvitation = z.infer<typeof issuedInvitation>;

const invitation = z.object({ email: emailAddress, role: membershipRole }).strict();
const role = z.object({ role: membershipRole }).strict();

/**
 * Returns the endpoints for the people of a partner, or of a whole system. Only the list takes `query`, which chooses whose
 * people it shows: the other endpoints have a membership, an invitation or, in `body`, a new invitation's partner instead.
 * Frames of the operator's portal may call none of them (`embedded`), because nothing proves there who the person is.
 */
function peopleEndpoints<
  const Path extends string,
  Params extends z.ZodRawShape,
  Query extends z.ZodTypeAny,
  Invitation extends z.ZodTypeAny,
>(
  audience: "partner" | "operator",
  path: Path,
  { params, query, body }: { readonly params: z.ZodObject<Params>; readonly query: Query; readonly body: Invitation },
) {
  const ofOne = params.extend({ id: identifierParam });
  const responses = { 200: memberList, ...consoleErrors, ...consoleBodyErrors };
  return {
    list: {
      method: "GET",
      path,
      summary: "Members and open invitations",
      metadata: consoleNeeds(audience, "viewer", { embedded: false }),
      pathParams: params,
      query,
      responses: { 200: memberList, ...consoleErrors },
    },
    invite: {
      method: "POST",
      path: `${path}/invitations`,
      summary: "Invite somebody by mail, or by a link that is shown once",
      metadata: consoleNeeds(audience, "admin", { confirmed: true, embedded: false }),
      pathParams: params,
      query: noQuery,
      body,
      responses: { ...responses, 200: issuedInvitation },
    },
    revokeInvitation: {
      method: "DELETE",
      path: `${path}/invitations/:id`,
      summary: "Revoke an invitation",
      metadata: consoleNeeds(audience, "admin", { embedded: false }),
      pathParams: ofOne,
      query: noQuery,
      responses: { ...responses, 200: done },
    },
    ...memberEndpoints(audience, path, ofOne),
  } as const;
}

/** Returns the endpoints that change one member. */
function memberEndpoints<Path extends string, Params extends z.AnyZodObject>(
  audience: "partner" | "operator",
  path: Path,
  pathParams: Params,
) {
  const metadata = consoleNeeds(audience, "admin", { conflicts: ["last_one"], embedded: false });
  const responses = { 200: done, 409: errorBody, ...consoleErrors, ...consoleBodyErrors };
  return {
    changeRole: {
      method: "PATCH",
      path: `${path}/:id`,
      summary: "Change a member's role",
      metadata,
      pathParams,
      query: noQuery,
      body: role,
      responses,
    },
    remove: {
      method: "DELETE",
      path: `${path}/:id`,
      summary: "End a membership, effective with the person's next request",
      description: "An open stream of changes ends with its next heartbeat, within 15 s.",
      metadata,
      pathParams,
      query: noQuery,
      responses,
    },
  } as const;
}

/** Endpoints with which a partner's admins manage the partner's people. */
export const partnerPeopleEndpoints = peopleEndpoints(
  "partner",
  "/console/v1/systems/:system_id/partners/:partner_id/people",
  { params: partnerPath, query: noQuery, body: invitation },
);

/** Endpoints with which the operator's admins manage the operator's people, or with `partner_id` a partner's people. */
export const operatorPeopleEndpoints = peopleEndpoints("operator", "/console/v1/systems/:system_id/people", {
  params: systemPath,
  query: z.object({ partner_id: identifierParam.optional() }).strict(),
  body: invitation.extend({ partner_id: identifierParam.nullable() }),
});
