import type { Configuration, CustomFetch } from "openid-client";
import { isLoopback } from "../../runtime/startup/values.ts";
import { createBoundedFetch, ProviderUnavailable } from "./bounded-fetch.ts";

/** Milliseconds for which what the provider says of itself is used without asking again. Providers change in months. */
const CONFIGURATION_LIFETIME_MS = 3_600_000;
/** Milliseconds after a failure in which nobody asks again: everybody who signs in meanwhile gets the same answer at once. */
const RETRY_AFTER_MS = 5_000;

/** Seconds for one request to the provider: a person is waiting for it, and a slow one must not gather requests. */
const TIMEOUT_SECONDS = 5;

/** Who the service is at the provider. */
export interface ClientSettings {
  /** An https URL, or http on this machine, as URLs are written by the platform. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** For one request to the provider. */
  readonly timeoutSeconds?: number;
}

/** Loaded with the first sign-in: a service without a provider needs none of it. */
export const loadOpenId = () => import("openid-client");

/**
 * Reads what the library must know of the provider when somebody first signs in, so that the service starts without the
 * provider, and keeps it for an hour.
 * @returns a function that throws ProviderUnavailable when there is nothing yet
 */
export function createConfigurationReader(settings: ClientSettings, clock: () => number): () => Promise<Configuration> {
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
      // What it said an hour ago is most likely right still.
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
  const metadata = discovered.serverMetadata();
  // The library lets providers of many organisations name no issuer; then anybody's organisation would sign in here.
  if (new URL(metadata.issuer).href !== issuer)
    throw new ProviderUnavailable(`its metadata names another issuer: ${metadata.issuer}. Correct OIDC_ISSUER`);
  // Either is right where both are offered; in this one no character is decoded differently by some providers.
  const isPost = metadata.token_endpoint_auth_methods_supported?.includes("client_secret_post") === true;
  const authentication = isPost ? oidc.ClientSecretPost(clientSecret) : oidc.ClientSecretBasic(clientSecret);
  const configuration = new oidc.Configuration(metadata, clientId, undefined, authentication);
  configuration.timeout = timeoutSeconds;
  configuration[oidc.customFetch] = boundedFetch;
  for (const permit of permissions) permit(configuration);
  // Otherwise the connection alone would vouch for a token, and not its signature.
  oidc.enableNonRepudiationChecks(configuration);
  return configuration;
}
