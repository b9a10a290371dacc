import { createSign, generateKeyPairSync, hash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** The person who is signed in at the provider, with the claims about them. */
interface ProviderUser {
  sub: string;
  email?: string;
  email_verified?: boolean;
  name?: string;
  auth_time?: number;
  [claim: string]: unknown;
}

/** An OpenID provider on this machine, whose responses a test can falsify. */
export interface TestProvider {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** The person as whom the next browser is signed in. */
  user: ProviderUser;
  /** Changes the claims of the next ID tokens. */
  spoilClaims: (claims: Record<string, unknown>) => Record<string, unknown>;
  /** Changes the next signed ID tokens. */
  spoilToken: (token: string) => string;
  /** May answer a request instead of the provider. Returns true if it has. */
  intercept: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** Whether a code may be used more than once, which providers must not allow. */
  acceptsCodesAgain: boolean;
  /** Whether ID tokens contain only `sub`. Other claims must then be read from the userinfo endpoint. */
  hasThinTokens: boolean;
  /** The parameters of the last authorisation request. */
  lastAuthorization: URLSearchParams;
  /** Paths of the requests that the service has made. */
  readonly requests: string[];
  /** Makes the provider honest again. */
  restore(): void;
  close(): Promise<void>;
}

interface Grant {
  readonly query: URLSearchParams;
  readonly user: ProviderUser;
}

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");

/** Starts an honest provider with one client. @param redirectUri the only address to which it redirects browsers */
export async function startTestProvider(redirectUri: string): Promise<TestProvider> {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const jwk = { ...publicKey.export({ format: "jwk" }), kid: "key-1", alg: "RS256", use: "sig" };
  const grants = new Map<string, Grant>();
  const usedCodes = new Set<string>();
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const honest = () => ({
    user: { sub: "nobody" } as ProviderUser,
    spoilClaims: (claims: Record<string, unknown>) => claims,
    spoilToken: (token: string) => token,
    intercept: () => false,
    acceptsCodesAgain: false,
    hasThinTokens: false,
  });
  const provider: TestProvider = {
    issuer,
    clientId: "dashboard",
    clientSecret: "s3cret+/%& of the client",
    lastAuthorization: new URLSearchParams(),
    requests: [],
    ...honest(),
    restore: () => void Object.assign(provider, honest()),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };

  function idToken({ query, user }: Grant): string {
    const { sub, auth_time, ...rest } = user;
    const now = Math.floor(Date.now() / 1000);
    const claims = provider.spoilClaims({
      iss: issuer,
      aud: provider.clientId,
      iat: now,
      exp: now + 300,
      nonce: query.get("nonce"),
      sub,
      ...(auth_time !== undefined && { auth_time }),
      ...(provider.hasThinTokens ? {} : rest),
    });
    const input = `${encode({ alg: "RS256", kid: jwk.kid })}.${encode(claims)}`;
    return provider.spoilToken(`${input}.${createSign("RSA-SHA256").update(input).sign(privateKey, "base64url")}`);
  }

  function exchange(form: URLSearchParams): { readonly status: number; readonly body: object } {
    const refused = (error: string) => ({ status: 400, body: { error } });
    if (form.get("client_id") !== provider.clientId || form.get("client_secret") !== provider.clientSecret)
      return refused("invalid_client");
    const code = form.get("code") ?? "";
    const grant = grants.get(code);
    if (grant === undefined || (usedCodes.has(code) && !provider.acceptsCodesAgain)) return refused("invalid_grant");
    usedCodes.add(code);
    const challenge = hash("sha256", form.get("code_verifier") ?? "", "base64url");
    if (challenge !== grant.query.get("code_challenge") || form.get("redirect_uri") !== redirectUri)
      return refused("invalid_grant");
    const token = { access_token: code, token_type: "Bearer", expires_in: 300, id_token: idToken(grant) };
    return { status: 200, body: token };
  }

  function authorize(query: URLSearchParams): string {
    provider.lastAuthorization = query;
    const isOurs = query.get("client_id") === provider.clientId && query.get("redirect_uri") === redirectUri;
    if (!isOurs || query.get("code_challenge_method") !== "S256")
      throw new Error(`not for this client: ${query.toString()}`);
    const code = randomBytes(16).toString("base64url");
    grants.set(code, { query, user: { ...provider.user } });
    const answered = new URLSearchParams({ code, state: query.get("state") ?? "", iss: issuer });
    return `${redirectUri}?${answered.toString()}`;
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? "", issuer);
    provider.requests.push(pathname);
    if (provider.intercept(request, response)) return;
    const send = (status: number, body: object, headers: Record<string, string> = {}) => {
      response.writeHead(status, { "content-type": "application/json", ...headers });
      response.end(JSON.stringify(body));
    };
    if (pathname === "/.well-known/openid-configuration") {
      send(200, {
        issuer,
        authorization_endpoint: `${issuer}authorize`,
        token_endpoint: `${issuer}token`,
        jwks_uri: `${issuer}keys`,
        userinfo_endpoint: `${issuer}userinfo`,
        end_session_endpoint: `${issuer}sign-out`,
        response_types_supported: ["code"],
        subject_types_supported: ["public"],
        id_token_signing_alg_values_supported: ["RS256"],
        token_endpoint_auth_methods_supported: ["client_secret_basic", "client_secret_post"],
        authorization_response_iss_parameter_supported: true,
      });
    } else if (pathname === "/keys") send(200, { keys: [jwk] });
    else if (pathname === "/authorize") send(302, {}, { location: authorize(searchParams) });
    else if (pathname === "/token") {
      const { status, body } = exchange(new URLSearchParams(await textOf(request)));
      send(status, body);
    } else if (pathname === "/userinfo") {
      const grant = grants.get((request.headers.authorization ?? "").replace("Bearer ", ""));
      send(grant === undefined ? 401 : 200, grant?.user ?? {});
    } else send(404, {});
  }

  return provider;
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
