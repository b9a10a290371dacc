import { createHash, createSign, generateKeyPairSync, randomBytes } from "node:crypto";

/** A passkey in software. It does what a phone or a security key does, but asks nobody for a fingerprint. */
export interface SoftwarePasskey {
  readonly id: string;
  /** Returns the response to the options of a registration, as `startRegistration` does. */
  register(options: RegistrationOptions): object;
  /** Returns the response to the options of an authentication, as `startAuthentication` does. */
  authenticate(options: { readonly challenge: string }): object;
  /** The signature counter in the next response; 0 for an authenticator that does not count. */
  counter: number;
  /** Whether responses say that the person was verified by a fingerprint, a face or a PIN. */
  isVerified: boolean;
}

interface RegistrationOptions {
  readonly challenge: string;
  readonly rp: { readonly id?: string };
  readonly user: { readonly id: string };
}

// Flags of the authenticator data, as WebAuthn defines them.
const USER_PRESENT = 0x01;
const USER_VERIFIED = 0x04;
const HAS_CREDENTIAL = 0x40;

/**
 * Creates a passkey in software. @param origin the origin of the page in the browser @param rpId the id of the service for
 * which the passkey is made
 */
export function createSoftwarePasskey(origin = "http://localhost", rpId = "localhost"): SoftwarePasskey {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const credentialId = randomBytes(32);
  const id = credentialId.toString("base64url");
  const { x = "", y = "" } = publicKey.export({ format: "jwk" });
  let userHandle = "";
  const clientData = (type: string, challenge: string) =>
    Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }));
  const authenticatorData = (more: Buffer = Buffer.alloc(0)) => {
    const flags = USER_PRESENT | (passkey.isVerified ? USER_VERIFIED : 0) | (more.length > 0 ? HAS_CREDENTIAL : 0);
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(passkey.counter);
    return Buffer.concat([sha256(Buffer.from(rpId)), Buffer.of(flags), counter, more]);
  };
  const answer = (response: Readonly<Record<string, string>>) => ({
    id,
    rawId: id,
    type: "public-key",
    clientExtensionResults: {},
    response,
  });
  const passkey: SoftwarePasskey = {
    id,
    counter: 0,
    isVerified: true,
    register({ challenge, user }) {
      userHandle = user.id;
      const cosePublicKey = Buffer.concat([
        // A CBOR map of five entries: kty 2 (EC2), alg -7 (ES256), crv 1 (P-256), x, y.
        Buffer.from([0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20]),
        Buffer.from(x, "base64url"),
        Buffer.from([0x22, 0x58, 0x20]),
        Buffer.from(y, "base64url"),
      ]);
      const length = Buffer.alloc(2);
      length.writeUInt16BE(credentialId.length);
      const authData = authenticatorData(Buffer.concat([Buffer.alloc(16), length, credentialId, cosePublicKey]));
      const authLength = Buffer.alloc(2);
      authLength.writeUInt16BE(authData.length);
      // A CBOR map of three entries: fmt "none", attStmt {}, authData.
      const attestationObject = Buffer.concat([
        Buffer.of(0xa3),
        cborText("fmt"),
        cborText("none"),
        cborText("attStmt"),
        Buffer.of(0xa0),
        cborText("authData"),
        Buffer.of(0x59),
        authLength,
        authData,
      ]);
      return answer({
        clientDataJSON: clientData("webauthn.create", challenge).toString("base64url"),
        attestationObject: attestationObject.toString("base64url"),
      });
    },
    authenticate({ challenge }) {
      const client = clientData("webauthn.get", challenge);
      const authData = authenticatorData();
      const signature = createSign("sha256").update(authData).update(sha256(client)).sign(privateKey);
      return answer({
        clientDataJSON: client.toString("base64url"),
        authenticatorData: authData.toString("base64url"),
        signature: signature.toString("base64url"),
        userHandle,
      });
    },
  };
  return passkey;
}

function sha256(bytes: Buffer): Buffer {
  return createHash("sha256").update(bytes).digest();
}

/** Encodes a text of fewer than 24 bytes as CBOR. */
function cborText(text: string): Buffer {
  return Buffer.concat([Buffer.of(0x60 + text.length), Buffer.from(text)]);
}
