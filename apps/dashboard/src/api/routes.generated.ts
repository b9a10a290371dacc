// Every endpoint of the console.
// Made from packages/contract by `pnpm --filter @bikeshare/dashboard run generate`. Do not edit here.

/** By noun and verb: method and path. */
export const routes = {
  session: {
    get: "GET /console/v1/session",
    end: "DELETE /console/v1/session",
  },
  signIn: {
    options: "GET /console/v1/sign-in",
  },
  invitations: {
    read: "POST /console/v1/invitations/read",
    accept: "POST /console/v1/invitations/accept",
  },
} as const;
