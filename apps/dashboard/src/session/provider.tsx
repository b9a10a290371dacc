/** Leads the browser to the identity provider and back. */
import { useEffect, useState } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { Notice } from "../components/notice.tsx";
import { useSignInOptions } from "./branding.ts";

interface ProviderButtonProps {
  /** Asks the server for the address at the identity provider. */
  readonly begin: () => Promise<{ readonly url: string }>;
  readonly variant?: "primary" | "secondary";
}

/** A button that leads to the identity provider, if there is one. Leaving the page loses unsaved input. */
export function ProviderButton({ begin, variant = "secondary" }: ProviderButtonProps) {
  const { data: offered } = useSignInOptions();
  const [isPending, setIsPending] = useState(false);
  const [error, setError] = useState<string>();
  // A browser that goes back from the provider may show this page as it was, so the button must be usable again.
  useEffect(() => {
    const enable = () => setIsPending(false);
    addEventListener("pageshow", enable);
    return () => removeEventListener("pageshow", enable);
  }, []);
  const provider = offered?.methods.provider ?? null;
  if (provider === null) return null;
  const go = async () => {
    setIsPending(true);
    setError(undefined);
    try {
      // The button stays pending while the browser loads the provider's page.
      location.assign((await begin()).url);
    } catch (failure) {
      setError(failure instanceof Error ? failure.message : String(failure));
      setIsPending(false);
    }
  };
  return (
    <>
      {error !== undefined && <Notice tone="danger">{error}</Notice>}
      <Button variant={variant} pending={isPending} onClick={() => void go()}>
        Continue with {provider}
      </Button>
    </>
  );
}

/** Most characters of an address that the server accepts for the redirect back. */
const MAX_ADDRESS_LENGTH = 500;

/**
 * Returns the address of a page in the form that the server accepts for the redirect back: URL-encoded, and without its
 * query if it is too long.
 */
export function returnAddress(page: string): string {
  const { pathname, search } = new URL(page, location.origin);
  const address = pathname + search;
  return address.length > MAX_ADDRESS_LENGTH ? pathname : address;
}
