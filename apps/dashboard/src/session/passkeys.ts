/** Creates and uses passkeys in the browser. */
import type { Account } from "@bikeshare/contract/console";
import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from "@simplewebauthn/browser";
import { api } from "../api/api.ts";

/** Loads the library on the first use of a passkey. */
const load = () => import("@simplewebauthn/browser");

/** Lets the browser prove its user's identity. @returns the proof for signing in, or for a confirmation */
export async function provePasskey() {
  const [{ startAuthentication }, task] = await Promise.all([load(), api.signIn.passkeyOptions({ body: {} })]);
  const { options, challenge_token } = task;
  const optionsJSON = options as unknown as PublicKeyCredentialRequestOptionsJSON;
  const response = await startAuthentication({ optionsJSON }).catch(refuse);
  // Copied, because interfaces have no index signature, which the contract's open objects require. The service needs no
  // results of extensions.
  return { challenge_token, response: { ...response, response: { ...response.response }, clientExtensionResults: {} } };
}

/** Lets the browser create a passkey, and adds it to the account. */
export async function addPasskey(name: string): Promise<Account> {
  const [{ startRegistration }, task] = await Promise.all([load(), api.account.passkeyOptions({ body: {} })]);
  const { options, challenge_token } = task;
  const optionsJSON = options as unknown as PublicKeyCredentialCreationOptionsJSON;
  const response = await startRegistration({ optionsJSON }).catch(refuse);
  // Copied for the same reason as in `provePasskey`.
  const body = {
    name,
    challenge_token,
    response: { ...response, response: { ...response.response }, clientExtensionResults: {} },
  };
  return api.account.addPasskey({ body });
}

/**
 * Throws an error with a text for the reader. Browsers reveal little about the reason of a failure, to protect their users.
 */
function refuse(error: unknown): never {
  const name = error instanceof Error ? error.name : "";
  if (name === "InvalidStateError")
    throw new Error("This device already has a passkey for your account.", { cause: error });
  if (name === "SecurityError") {
    const hint = `Open the dashboard by its name: passkeys do not work at ${location.host}.`;
    throw new Error(hint, { cause: error });
  }
  throw new Error("The browser used no passkey: it was cancelled, took too long, or there is none.", { cause: error });
}

/** Returns the default name of a new passkey. */
export function passkeyName(): string {
  // Not Linux, which Android's browsers name first.
  const system = /Android|iPhone|iPad|Mac|Windows/.exec(navigator.userAgent)?.[0] ?? "This device";
  return `${system}, ${new Date().toISOString().slice(0, 10)}`;
}
