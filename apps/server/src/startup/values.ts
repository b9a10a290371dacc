/** Reads a value that may be absent: the type that `parse` has no word for. */
export function optional<Value>(parse: (text: string) => Value): (text: string) => Value | undefined {
  return parse;
}

export function wholeNumber(least: number, most: number) {
  return (text: string): number => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < least || value > most) {
      throw new Error(`must be a whole number from ${least} to ${most}`);
    }
    return value;
  };
}

export function oneOf<const Value extends string>(values: readonly Value[]) {
  return (text: string): Value => {
    const found = values.find((value) => value === text);
    if (found === undefined) throw new Error(`must be one of ${values.join(", ")}`);
    return found;
  };
}

export function hostName(text: string): string {
  if (!/^[A-Za-z0-9.:_-]+$/.test(text)) throw new Error("must be a host name or an IP address, without a port");
  return text;
}

export function systemId(text: string): string {
  if (!/^[\x21-\x7e]{1,255}$/.test(text)) throw new Error("must be 1 to 255 visible ASCII characters");
  return text;
}

export function baseUrl(text: string): string {
  const url = URL.parse(text);
  const whole =
    url !== null && /^https?:$/.test(url.protocol) && url.search === "" && url.hash === "" && url.username === "";
  if (!whole) throw new Error("must be an http or https URL without query, such as https://bikes.example.com");
  return text.replace(/\/+$/, "");
}

export function mailServerUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^smtps?:$/.test(url.protocol) || url.hostname === "") {
    throw new Error(
      "must be a URL such as smtp://user:password@mail.example.com:587, or smtps:// for TLS from the start",
    );
  }
  return text;
}

/** An address, or a name and an address; nothing that a second header could hide in. */
export function mailSender(text: string): string {
  if (!/^(?:[^<>\r\n]+ )?<[^<>@\s,;]+@[^<>@\s,;]+>$|^[^<>@\s,;]+@[^<>@\s,;]+$/.test(text)) {
    throw new Error("must be a mail address, such as bikes@example.com or Example Bikes <bikes@example.com>");
  }
  return text;
}

/** What mails are from where nobody says: nobody, at the service's own host. Undefined where it has no public name. */
export function senderAt(publicUrl: string | undefined): string | undefined {
  const host = publicUrl === undefined ? undefined : URL.parse(publicUrl)?.hostname;
  const isPublicName = host !== undefined && host.includes(".") && /[a-z]$/i.test(host);
  return isPublicName ? `no-reply@${host}` : undefined;
}

/** Feeds may want a key in their query; `fetch` refuses a name and password. */
export function feedUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "") {
    throw new Error("must be the http or https URL of a gbfs.json, without user and password");
  }
  return text;
}

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds. */
export function duration(least: number, most: number, range: string) {
  return (text: string): number => {
    const [, amount, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
    const value = Number(amount) * (UNITS[unit ?? ""] ?? Number.NaN);
    if (!(value >= least && value <= most)) throw new Error(`must be a duration from ${range}, such as 30s or 5m`);
    return value;
  };
}

/** TLS means what it means to PostgreSQL's own programs; those modes that protect nothing are refused. */
export function databaseUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^postgres(ql)?:$/.test(url.protocol)) {
    throw new Error("must be a URL such as postgres://user:password@host:5432/database");
  }
  const mode = url.searchParams.get("sslmode");
  if (mode !== null && !SSL_MODES.includes(mode)) {
    throw new Error(`sslmode must be one of ${SSL_MODES.join(", ")}`);
  }
  if (mode === "verify-ca" && !url.searchParams.has("sslrootcert")) {
    throw new Error("sslmode=verify-ca needs sslrootcert=<file>, the authority to trust; or say verify-full");
  }
  return text;
}

const SSL_MODES: readonly string[] = ["disable", "require", "verify-ca", "verify-full"];
