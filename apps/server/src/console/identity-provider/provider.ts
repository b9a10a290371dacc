import type { Configuration, CustomFetch, IDToken } from "openid-client";
import { isLoopback } from "../../runtime/startup/values.ts";
import { type Identity, identityOf, requireUsable } from "./claims.rules.ts";

/* Calls the operator's identity provider by OpenID Connect. */

/**
 * The identity provider cannot be used: for example, it does not answer in time, fails, or names an address without https.
 */
export class ProviderUnavailable extends Error {
  override readonly name = "ProviderUnavailable";
}

/** Maximum bytes of a response. Metadata and key sets have some kilobytes. */
const MAX_ANSWER_BYTES = 256 * 1024;
/** Maximum simultaneous requests to the provider. If so many are waiting, it is overloaded, and more would not help. */
const MAX_REQUESTS = 50;

/**
 * Returns a `fetch` for the identity provider. The provider, and the addresses that its metadata names, may be in a private
 * network: the operator chose the provider, and its owner can sign in as anybody here anyway. The addresses must be https,
 * except on this machine.
 */
function createBoundedFetch(): CustomFetch {
  let running = 0;
  return async (address, { signal, body: sent, ...request }) => {
    requireSecure(address);
    if (running >= MAX_REQUESTS) throw new ProviderUnavailable(`${MAX_REQUESTS} requests to it are waiting already`);
    running += 1;
    try {
      const response = await fetch(address, { ...request, body: sent ?? null, signal: signal ?? null });
      const body = await readBounded(response);
      const { status, statusText, headers } = response;
      if (status >= 500) throw new ProviderUnavailable(`${hostOf(address)} answered with status ${status}`);
      return new Response(body.length === 0 ? null : new Uint8Array(body), { status, statusText, headers });
    } catch (error) {
      if (error instanceof ProviderUnavailable) throw error;
      throw new ProviderUnavailable(`${hostOf(address)}: ${reasonOf(error)}`, { cause: error });
    } finally {
      running -= 1;
    }
  };
}

/** @throws ProviderUnavailable for an address that a browser or this service must not go to */
function requireSecure(address: string): void {
  const url = URL.parse(address);
  const isSecure = url?.protocol === "https:" || (url?.protocol === "http:" && isLoopback(url.hostname));
  if (!isSecure) throw new ProviderUnavailable(`it names an address that is not https: ${hostOf(address)}`);
}

async function readBounded(response: Response): Promise<Buffer> {
  if (response.body === null) return Buffer.alloc(0);
  const body: AsyncIterable<Uint8Array> = response.body;
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > MAX_ANSWER_BYTES) throw new ProviderUnavailable(`it answered with more than ${MAX_ANSWER_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function hostOf(address: string): string {
  return URL.parse(address)?.host ?? "an invalid address";
}

/** Returns the reason of a failed `fetch`, which its error hides in the cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === "TimeoutError") return "no answer in time";
  return error.cause instanceof Error ? error.cause.message : error.message;
}

/** The configuration of the operator's identity provider. */
export interface ProviderSettings extends ClientSettings {
  /** The provider's name on pages. */
  readonly name: string;
  /** The domains of the addresses that may sign in; undefined: all. */
  readonly emailDomains: readonly string[] | undefined;
}

/** The random secrets of one sign-in at the provider. */
export interface ProviderSecrets {
  readonly state: string;
  readonly nonce: string;
  /** The verifier of PKCE: the code is useless without it. */
  readonly verifier: string;
}

/** The operator's identity provider (OpenID Connect): authorization code flow with PKCE. */
export interface IdentityProvider extends Pick<ProviderSettings, "issuer" | "name" | "emailDomains"> {
  /**
   * Returns the address to which the browser is redirected.
   * @param isConfirmation the person must prove their identity even if the provider has a session of them
   */
  addressFor(secrets: ProviderSecrets, redirectUri: string, isConfirmation: boolean): Promise<string>;
  /**
   * Verifies the provider's answer, and returns the person's identity.
   * @param returned the address that the browser came back to
   * @throws Error if the answer or its token is not valid; ProviderUnavailable if the provider cannot be used
   */
  identify(returned: URL, secrets: ProviderSecrets): Promise<Identity>;
  /**
   * Returns the URL at which the browser signs out at the provider too; undefined: the provider has no such page.
   * @param idToken of the sign-in. Without it the provider asks the person
   * @param returnTo where the provider sends the browser afterwards
   */
  signOutAddress(idToken: string | undefined, returnTo: string): Promise<string | undefined>;
}

/** Asks when the person proved to the provider who they are; several providers say so only if they are asked. */
const AUTH_TIME_REQUEST = JSON.stringify({ id_token: { auth_time: { essential: true } } });

/** Returns the identity provider. It is called for the first time when somebody signs in. */
export function createIdentityProvider(settings: ProviderSettings, clock: () => number): IdentityProvider {
  const { issuer, name, emailDomains } = settings;
  const read = createConfigurationReader(settings, clock);
  return {
    issuer,
    name,
    emailDomains,
    async addressFor({ state, nonce, verifier }, redirectUri, isConfirmation) {
      const [oidc, configuration] = await Promise.all([loadOpenId(), read()]);
      const { href } = oidc.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        scope: "openid email profile",
        state,
        nonce,
        code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
        code_challenge_method: "S256",
        claims: AUTH_TIME_REQUEST,
        ...(isConfirmation && { prompt: "login", max_age: "0" }),
      });
      requireSecure(href);
      return href;
    },
    async identify(returned, { state, nonce, verifier }) {
      const [oidc, configuration] = await Promise.all([loadOpenId(), read()]);
      const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true };
      const tokens = await oidc.authorizationCodeGrant(configuration, returned, checks);
      const claims: IDToken | undefined = tokens.claims();
      if (claims === undefined || tokens.id_token === undefined) throw new Error("the provider gave no ID token");
      // oxlint-disable-next-line no-restricted-properties -- the library checks with this clock whether a token has expired
      requireUsable(claims, Date.now());
      // When a token has no address, the userinfo endpoint may return it.
      const needsUserInfo =
        claims["email"] === undefined && configuration.serverMetadata().userinfo_endpoint !== undefined;
      const info = needsUserInfo ? await oidc.fetchUserInfo(configuration, tokens.access_token, claims.sub) : {};
      return identityOf(issuer, tokens.id_token, { ...info, ...claims });
    },
    async signOutAddress(idToken, returnTo) {
      const [oidc, configuration] = await Promise.all([loadOpenId(), read()]);
      if (configuration.serverMetadata().end_session_endpoint === undefined) return undefined;
      const hint: Record<string, string> = idToken === undefined ? {} : { id_token_hint: idToken };
      const { href } = oidc.buildEndSessionUrl(configuration, { post_logout_redirect_uri: returnTo, ...hint });
      requireSecure(href);
      return href;
    },
  };
}

/** Milliseconds for which the provider's configuration is cached. Providers change it in months. */
const CONFIGURATION_LIFETIME_MS = 3_600_000;
/** Milliseconds after a failure without a new attempt: everybody who signs in meanwhile gets the same answer at once. */
const RETRY_AFTER_MS = 5_000;

/**
 * Seconds for one request to the provider. Too high: a person waits for long, and requests to a slow provider accumulate.
 */
const TIMEOUT_SECONDS = 5;

/** The service's registration at the provider. */
interface ClientSettings {
  /** An https URL, or http on this machine, normalized as `URL` does. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Seconds for one request to the provider. */
  readonly timeoutSeconds?: number;
}

/** Loaded with the first sign-in: a service without a provider needs none of it. */
const loadOpenId = () => import("openid-client");

/**
 * Returns a function that reads the provider's configuration at the first sign-in, so that the service starts without the
 * provider, and caches it for an hour. If a later attempt fails, it returns the earlier configuration; without one, it
 * throws.
 */
function createConfigurationReader(settings: ClientSettings, clock: () => number): () => Promise<Configuration> {
  const boundedFetch = createBoundedFetch();
  let kept: { readonly configuration: Configuration; readonly at: number } | undefined;
  let failure: { readonly error: unknown; readonly at: number } | undefined;
  let reading: Promise<Configuration> | undefined;
  const readAnew = async () => {
    try {
      const configuration = await discover(settings, boundedFetch);
      kept = { configuration, at: clock() };
      return configuration;
    } catch (error) {
      failure = { error, at: clock() };
      // The earlier configuration is most likely still valid.
      if (kept !== undefined) return kept.configuration;
      throw error;
    } finally {
      reading = undefined;
    }
  };
  return async () => {
    if (kept !== undefined && clock() < kept.at + CONFIGURATION_LIFETIME_MS) return kept.configuration;
    if (failure === undefined || clock() >= failure.at + RETRY_AFTER_MS) return (reading ??= readAnew());
    if (kept !== undefined) return kept.configuration;
    throw failure.error;
  };
}

async function discover(settings: ClientSettings, boundedFetch: CustomFetch): Promise<Configuration> {
  const { issuer, clientId, clientSecret, timeoutSeconds = TIMEOUT_SECONDS } = settings;
  const oidc = await loadOpenId();
  const permissions: ((configuration: Configuration) => void)[] = isLoopback(new URL(issuer).hostname)
    ? // oxlint-disable-next-line typescript/no-deprecated -- marked so that nobody takes it lightly: it is for this machine
      [oidc.allowInsecureRequests]
    : [];
  const discovered = await oidc.discovery(new URL(issuer), clientId, undefined, undefined, {
    timeout: timeoutSeconds,
    [oidc.customFetch]: boundedFetch,
    execute: permissions,
  });
  // Only the metadata of this configuration is used: it is made before it is known how the service authenticates itself.
  const metadata = discovered.serverMetadata();
  // The library does not compare the issuer of providers that serve many organisations. Without this check, accounts of any
  // organisation could sign in here.
  if (new URL(metadata.issuer).href !== issuer)
    throw new ProviderUnavailable(`its metadata names another issuer: ${metadata.issuer}. Correct OIDC_ISSUER`);
  // Prefers `client_secret_post` where both are offered: with `client_secret_basic`, some providers decode certain
  // characters of the secret differently.
  const isPost = metadata.token_endpoint_auth_methods_supported?.includes("client_secret_post") === true;
  const authentication = isPost ? oidc.ClientSecretPost(clientSecret) : oidc.ClientSecretBasic(clientSecret);
  const configuration = new oidc.Configuration(metadata, clientId, undefined, authentication);
  configuration.timeout = timeoutSeconds;
  configuration[oidc.customFetch] = boundedFetch;
  for (const permit of permissions) permit(configuration);
  // Makes the library verify the signature of tokens. Otherwise it would trust them because of the TLS connection alone.
  oidc.enableNonRepudiationChecks(configuration);
  return configuration;
}
