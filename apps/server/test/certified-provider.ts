import { generateKeyPairSync, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import Provider from "oidc-provider";

/**
 * An identity provider whose software the OpenID Foundation has certified. It runs on this machine, and everybody signs in
 * as the same person.
 */
export interface CertifiedProvider {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** How often the provider asked for a sign-in, because the browser had no session there. */
  signIns(): number;
  close(): Promise<void>;
}

type Stored = Readonly<Record<string, unknown>>;

/** Stores what the provider has issued, in memory. The provider's own memory adapter would print a warning. */
class MemoryAdapter {
  static readonly #all = new Map<string, Stored>();
  readonly #name: string;

  constructor(name: string) {
    this.#name = name;
  }

  #find(matches: (stored: Stored) => boolean): Promise<Stored | undefined> {
    const own = [...MemoryAdapter.#all].filter(([key]) => key.startsWith(`${this.#name} `));
    return Promise.resolve(own.map(([, stored]) => stored).find(matches));
  }

  async upsert(id: string, stored: Stored): Promise<void> {
    MemoryAdapter.#all.set(`${this.#name} ${id}`, stored);
    return Promise.resolve();
  }

  find(id: string): Promise<Stored | undefined> {
    return Promise.resolve(MemoryAdapter.#all.get(`${this.#name} ${id}`));
  }

  findByUid(uid: string): Promise<Stored | undefined> {
    return this.#find((stored) => stored["uid"] === uid);
  }

  async consume(id: string): Promise<void> {
    const stored = await this.find(id);
    if (stored !== undefined) await this.upsert(id, { ...stored, consumed: Math.floor(Date.now() / 1000) });
  }

  destroy(id: string): Promise<void> {
    MemoryAdapter.#all.delete(`${this.#name} ${id}`);
    return Promise.resolve();
  }

  revokeByGrantId(grantId: string): Promise<void> {
    for (const [key, stored] of MemoryAdapter.#all) if (stored["grantId"] === grantId) MemoryAdapter.#all.delete(key);
    return Promise.resolve();
  }
}

/** Starts the provider with one client. */
export async function startCertifiedProvider(
  email: string,
  client: { readonly redirectUri: string; readonly postLogoutRedirectUri: string },
): Promise<CertifiedProvider> {
  let handle: (request: IncomingMessage, response: ServerResponse) => void = () => undefined;
  const server = createServer((request, response) => handle(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const [clientId, clientSecret] = ["dashboard", randomBytes(32).toString("hex")];
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        redirect_uris: [client.redirectUri],
        post_logout_redirect_uris: [client.postLogoutRedirectUri],
        require_auth_time: true,
      },
    ],
    jwks: { keys: [{ ...privateKey.export({ format: "jwk" }), kid: "key-1", alg: "RS256", use: "sig" }] },
    cookies: { keys: [randomBytes(32).toString("hex")] },
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"] },
    findAccount: (_: unknown, id: string) => ({
      accountId: id,
      claims: () => ({ sub: id, email, email_verified: true, name: "Ada Lovelace" }),
    }),
    adapter: MemoryAdapter,
    features: {
      devInteractions: { enabled: false },
      claimsParameter: { enabled: true },
      rpInitiatedLogout: {
        logoutSource: (context: { body: string }, form: string) => {
          context.body = form;
        },
      },
    },
    interactions: { url: (_: unknown, { uid }: { readonly uid: string }) => `/interaction/${uid}` },
    ttl: { AccessToken: 300, AuthorizationCode: 60, Grant: 300, IdToken: 300, Interaction: 300, Session: 300 },
  });
  let signIns = 0;
  const answer = provider.callback();
  const interact = async (request: IncomingMessage, response: ServerResponse) => {
    const { prompt, params, session } = await provider.interactionDetails(request, response);
    if (prompt.name === "login") signIns += 1;
    const result = prompt.name === "login" ? { login: { accountId: "ada" } } : { consent: { grantId: await grant() } };
    await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: true });
    async function grant(): Promise<string> {
      const made = new provider.Grant({ accountId: session?.accountId ?? "", clientId: params.client_id });
      made.addOIDCScope("openid email profile");
      return made.save();
    }
  };
  handle = (request, response) =>
    request.url?.startsWith("/interaction/") === true
      ? void interact(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)))
      : answer(request, response);
  return {
    issuer,
    clientId,
    clientSecret,
    signIns: () => signIns,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** A browser at the provider, which keeps the provider's cookies. */
export class BrowserAtProvider {
  readonly #cookies = new Map<string, string>();

  /**
   * Follows redirects and submits confirmation forms until a redirect leads to an address that begins with `away`. @returns
   * this address
   */
  async follow(from: string, away: string): Promise<string> {
    let url = from;
    let form: URLSearchParams | undefined;
    for (let step = 0; step < 12; step++) {
      const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; ");
      const response = await fetch(url, {
        redirect: "manual",
        headers: { cookie },
        ...(form !== undefined && { method: "POST", body: form }),
      });
      for (const header of response.headers.getSetCookie()) {
        const [name = "", value = ""] = header.split(";", 1)[0]?.split("=", 2) ?? [];
        this.#cookies.set(name, value);
      }
      const text = await response.text();
      const location = response.headers.get("location");
      if (location !== null) {
        url = new URL(location, url).href;
        form = undefined;
        if (url.startsWith(away)) return url;
      } else {
        const action = /<form[^>]*action="([^"]+)"/.exec(text)?.[1];
        if (action === undefined) throw new Error(`${url} leads nowhere: ${response.status} ${text}`);
        url = new URL(action, url).href;
        const fields = text.matchAll(/<input[^>]*name="([^"]+)"[^>]*value="([^"]*)"/g);
        form = new URLSearchParams({ logout: "yes" });
        for (const [, name = "", value = ""] of fields) form.set(name, value);
      }
    }
    throw new Error(`${from} does not lead to ${away}`);
  }
}
