/**
 * Asks the browser for passkeys, in the JSON of WebAuthn, whose bytes are base64url. Browsers can translate it themselves,
 * but Safari only since 18.4.
 */

/** The ceremony under way: a browser has one at a time, and a new one ends it. */
let underWay: AbortController | undefined;

function beginCeremony(): AbortSignal {
  underWay?.abort();
  underWay = new AbortController();
  return underWay.signal;
}

/** Lets the browser make a passkey. */
export async function createCredential(options: PublicKeyCredentialCreationOptionsJSON) {
  const translated = {
    ...withoutExtensions(options),
    challenge: bytesOf(options.challenge),
    user: { ...options.user, id: bytesOf(options.user.id) },
    excludeCredentials: (options.excludeCredentials ?? []).map(descriptorOf),
  };
  // Beside its bytes the JSON has the same members.
  const publicKey = translated as PublicKeyCredentialCreationOptions;
  const credential = await navigator.credentials.create({ signal: beginCeremony(), publicKey });
  const { response, ...made } = partsOf<AuthenticatorAttestationResponse>(credential);
  return {
    ...made,
    response: {
      clientDataJSON: textOf(response.clientDataJSON),
      attestationObject: textOf(response.attestationObject),
      transports: response.getTransports(),
    },
  };
}

/** Lets the browser prove with a passkey who uses it. */
export async function proveCredential(options: PublicKeyCredentialRequestOptionsJSON) {
  const translated = {
    ...withoutExtensions(options),
    challenge: bytesOf(options.challenge),
    allowCredentials: (options.allowCredentials ?? []).map(descriptorOf),
  };
  const publicKey = translated as PublicKeyCredentialRequestOptions;
  const credential = await navigator.credentials.get({ signal: beginCeremony(), publicKey });
  const { response, ...proof } = partsOf<AuthenticatorAssertionResponse>(credential);
  return {
    ...proof,
    response: {
      clientDataJSON: textOf(response.clientDataJSON),
      authenticatorData: textOf(response.authenticatorData),
      signature: textOf(response.signature),
      ...(response.userHandle !== null && { userHandle: textOf(response.userHandle) }),
    },
  };
}

/** The service asks for credProps alone, which says what it knows already; other extensions would carry bytes too. */
function withoutExtensions<Options extends { readonly extensions?: unknown }>({ extensions: _, ...rest }: Options) {
  return rest;
}

function partsOf<Response extends AuthenticatorResponse>(credential: Credential | null) {
  if (!(credential instanceof PublicKeyCredential)) throw new Error("The browser gave no passkey.");
  const { id, rawId, response } = credential;
  return { id, rawId: textOf(rawId), type: "public-key" as const, response: response as Response };
}

function descriptorOf({ id, transports }: PublicKeyCredentialDescriptorJSON): PublicKeyCredentialDescriptor {
  return {
    id: bytesOf(id),
    type: "public-key",
    ...(transports !== undefined && { transports: transports as AuthenticatorTransport[] }),
  };
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  const base64 = text.replaceAll("-", "+").replaceAll("_", "/");
  return Uint8Array.from(atob(base64), (character) => character.codePointAt(0) ?? 0);
}

function textOf(bytes: ArrayBuffer): string {
  return btoa(String.fromCodePoint(...new Uint8Array(bytes)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}
