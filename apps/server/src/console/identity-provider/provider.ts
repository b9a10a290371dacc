import type { IDToken } from "openid-client";
import { requireSecure } from "./bounded-fetch.ts";
import { type Identity, identityOf, requireUsable } from "./claims.rules.ts";
import { type ClientSettings, createConfigurationReader, loadOpenId } from "./configuration.ts";

export interface ProviderSettings extends ClientSettings {
  /** What pages call the provider. */
  readonly name: string;
  /** The domains of the addresses that may sign in; undefined: all. */
  readonly emailDomains: readonly string[] | undefined;
}

/** What belongs to one way to the provider and back; all of it is random. */
export interface ProviderSecrets {
  readonly state: string;
  readonly nonce: string;
  /** Of PKCE: the code is of no use without it. */
  readonly verifier: string;
}

/** The operator's identity provider (OpenID Connect): authorization code flow with PKCE. */
export interface IdentityProvider extends Pick<ProviderSettings, "issuer" | "name" | "emailDomains"> {
  /** Where the browser goes. @param isConfirmation the person must prove who they are even if the provider knows them */
  addressFor(secrets: ProviderSecrets, redirectUri: string, isConfirmation: boolean): Promise<string>;
  /**
   * Finds out who came back, and whether the provider says so.
   * @param returned the address that the browser came back to
   * @throws Error of the library, or ProviderUnavailable
   */
  identify(returned: URL, secrets: ProviderSecrets): Promise<Identity>;
  /**
   * Where the browser goes to sign out at the provider too; undefined where the provider has no such page.
   * @param idToken of the sign-in. Without it the provider asks the person
   * @param returnTo where the provider sends the browser afterwards
   */
  signOutAddress(idToken: string | undefined, returnTo: string): Promise<string | undefined>;
}

/** Asks when the person proved to the provider who they are; several providers say so only if they are asked. */
const AUTH_TIME_REQUEST = JSON.stringify({ id_token: { auth_time: { essential: true } } });

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
      // oxlint-disable-next-line no-restricted-properties -- the library reads the end of a token by the same clock
      requireUsable(claims, Date.now());
      // Where a token has no address, a request for it does.
      const asks = claims["email"] === undefined && configuration.serverMetadata().userinfo_endpoint !== undefined;
      const info = asks ? await oidc.fetchUserInfo(configuration, tokens.access_token, claims.sub) : {};
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
