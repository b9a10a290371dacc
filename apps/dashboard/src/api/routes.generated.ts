// Every endpoint of the console.
// Made from packages/contract by `pnpm --filter @bikeshare/dashboard run generate`. Do not edit here.

/** By noun and verb: method and path. */
export const routes = {
  session: {
    get: "GET /console/v1/session",
    end: "DELETE /console/v1/session",
    confirm: "POST /console/v1/session/confirm",
    confirmAtProvider: "POST /console/v1/session/confirm/oidc",
  },
  signIn: {
    options: "GET /console/v1/sign-in",
    passkeyOptions: "POST /console/v1/sign-in/passkey/options",
    passkey: "POST /console/v1/sign-in/passkey",
    password: "POST /console/v1/sign-in/password",
    beginAtProvider: "POST /console/v1/sign-in/oidc",
    finishAtProvider: "GET /console/v1/sign-in/oidc/callback",
  },
  invitations: {
    read: "POST /console/v1/invitations/read",
    accept: "POST /console/v1/invitations/accept",
  },
  account: {
    get: "GET /console/v1/account",
    passkeyOptions: "POST /console/v1/account/passkeys/options",
    addPasskey: "POST /console/v1/account/passkeys",
    removePasskey: "DELETE /console/v1/account/passkeys/:id",
    setPassword: "PUT /console/v1/account/password",
    removePassword: "DELETE /console/v1/account/password",
    beginAuthenticatorApp: "POST /console/v1/account/authenticator-app/setup",
    setAuthenticatorApp: "PUT /console/v1/account/authenticator-app",
    removeAuthenticatorApp: "DELETE /console/v1/account/authenticator-app",
    connectIdentity: "POST /console/v1/account/identity/connect",
    disconnectIdentity: "DELETE /console/v1/account/identity",
    endSession: "DELETE /console/v1/account/sessions/:id",
    endOtherSessions: "DELETE /console/v1/account/sessions",
  },
  partnerPeople: {
    list: "GET /console/v1/systems/:system_id/partners/:partner_id/people",
    invite: "POST /console/v1/systems/:system_id/partners/:partner_id/people/invitations",
    revokeInvitation: "DELETE /console/v1/systems/:system_id/partners/:partner_id/people/invitations/:id",
    changeRole: "PATCH /console/v1/systems/:system_id/partners/:partner_id/people/:id",
    remove: "DELETE /console/v1/systems/:system_id/partners/:partner_id/people/:id",
  },
  operatorPeople: {
    list: "GET /console/v1/systems/:system_id/people",
    invite: "POST /console/v1/systems/:system_id/people/invitations",
    revokeInvitation: "DELETE /console/v1/systems/:system_id/people/invitations/:id",
    changeRole: "PATCH /console/v1/systems/:system_id/people/:id",
    remove: "DELETE /console/v1/systems/:system_id/people/:id",
  },
  partnerOverview: {
    get: "GET /console/v1/systems/:system_id/partners/:partner_id/overview",
  },
  systemOverview: {
    get: "GET /console/v1/systems/:system_id/overview",
  },
  partnerKeys: {
    list: "GET /console/v1/systems/:system_id/partners/:partner_id/keys",
    revoke: "POST /console/v1/systems/:system_id/partners/:partner_id/keys/:id/revoke",
    rotate: "POST /console/v1/systems/:system_id/partners/:partner_id/keys/:id/rotate",
  },
  systemKeys: {
    list: "GET /console/v1/systems/:system_id/keys",
    issue: "POST /console/v1/systems/:system_id/keys",
    revoke: "POST /console/v1/systems/:system_id/keys/:id/revoke",
    rotate: "POST /console/v1/systems/:system_id/keys/:id/rotate",
  },
  partnerRequests: {
    list: "GET /console/v1/systems/:system_id/partners/:partner_id/requests",
    get: "GET /console/v1/systems/:system_id/partners/:partner_id/requests/:id",
    minutes: "GET /console/v1/systems/:system_id/partners/:partner_id/usage/minutes",
    days: "GET /console/v1/systems/:system_id/partners/:partner_id/usage/days",
  },
  systemRequests: {
    list: "GET /console/v1/systems/:system_id/requests",
    get: "GET /console/v1/systems/:system_id/requests/:id",
    minutes: "GET /console/v1/systems/:system_id/usage/minutes",
    days: "GET /console/v1/systems/:system_id/usage/days",
    callers: "GET /console/v1/systems/:system_id/usage/callers",
  },
  deliveries: {
    list: "GET /console/v1/systems/:system_id/partners/:partner_id/deliveries",
    get: "GET /console/v1/systems/:system_id/partners/:partner_id/deliveries/:delivery_id",
    resend: "POST /console/v1/systems/:system_id/partners/:partner_id/deliveries/:delivery_id/resend",
    curl: "GET /console/v1/systems/:system_id/partners/:partner_id/deliveries/:delivery_id/curl",
    signedCurl: "POST /console/v1/systems/:system_id/partners/:partner_id/deliveries/:delivery_id/curl",
    export: "GET /console/v1/systems/:system_id/partners/:partner_id/deliveries.csv",
  },
  resends: {
    count: "POST /console/v1/systems/:system_id/partners/:partner_id/resends/count",
    create: "POST /console/v1/systems/:system_id/partners/:partner_id/resends",
    get: "GET /console/v1/systems/:system_id/partners/:partner_id/resends/:resend_id",
    cancel: "POST /console/v1/systems/:system_id/partners/:partner_id/resends/:resend_id/cancel",
  },
  live: {
    partner: "GET /console/v1/systems/:system_id/partners/:partner_id/live",
  },
  partners: {
    list: "GET /console/v1/systems/:system_id/partners",
    get: "GET /console/v1/systems/:system_id/partners/:partner_id",
    create: "POST /console/v1/systems/:system_id/partners",
    set: "PATCH /console/v1/systems/:system_id/partners/:partner_id",
    suspend: "POST /console/v1/systems/:system_id/partners/:partner_id/suspend",
    resume: "POST /console/v1/systems/:system_id/partners/:partner_id/resume",
    remove: "POST /console/v1/systems/:system_id/partners/:partner_id/remove",
  },
  partnerAudit: {
    list: "GET /console/v1/systems/:system_id/partners/:partner_id/audit",
  },
  systemAudit: {
    list: "GET /console/v1/systems/:system_id/audit",
  },
  fleet: {
    station: "GET /console/v1/systems/:system_id/stations/:id",
    bikes: "GET /console/v1/systems/:system_id/bikes",
    bike: "GET /console/v1/systems/:system_id/bikes/:id",
    rides: "GET /console/v1/systems/:system_id/rides",
    ride: "GET /console/v1/systems/:system_id/rides/:id",
  },
  imports: {
    list: "GET /console/v1/systems/:system_id/imports",
    get: "GET /console/v1/systems/:system_id/imports/:id",
    report: "GET /console/v1/systems/:system_id/imports/:id/report",
    undo: "POST /console/v1/systems/:system_id/imports/:id/undo",
  },
  feeds: {
    list: "GET /console/v1/systems/:system_id/feeds",
  },
  partnerStations: {
    list: "GET /console/v1/systems/:system_id/partners/:partner_id/stations",
  },
  systemStations: {
    list: "GET /console/v1/systems/:system_id/stations",
  },
  webhook: {
    show: "GET /console/v1/systems/:system_id/partners/:partner_id/webhook",
    events: "GET /console/v1/systems/:system_id/partners/:partner_id/webhook/events",
    pause: "POST /console/v1/systems/:system_id/partners/:partner_id/webhook/pause",
    resume: "POST /console/v1/systems/:system_id/partners/:partner_id/webhook/resume",
    retryNow: "POST /console/v1/systems/:system_id/partners/:partner_id/webhook/retry-now",
    remove: "POST /console/v1/systems/:system_id/partners/:partner_id/webhook/remove",
    set: "PATCH /console/v1/systems/:system_id/partners/:partner_id/webhook",
    probe: "POST /console/v1/systems/:system_id/partners/:partner_id/webhook/probe",
    test: "POST /console/v1/systems/:system_id/partners/:partner_id/webhook/test",
    showSecret: "POST /console/v1/systems/:system_id/partners/:partner_id/webhook/secret",
    rotateSecret: "POST /console/v1/systems/:system_id/partners/:partner_id/webhook/secret/rotate",
  },
  endpoints: {
    list: "GET /console/v1/systems/:system_id/endpoints",
    pause: "POST /console/v1/systems/:system_id/endpoints/:partner_id/pause",
    resume: "POST /console/v1/systems/:system_id/endpoints/:partner_id/resume",
    retryNow: "POST /console/v1/systems/:system_id/endpoints/:partner_id/retry-now",
  },
} as const;
