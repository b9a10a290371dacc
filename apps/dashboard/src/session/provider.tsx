/** The way to the identity provider and back. */
import { useEffect, useState } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { Notice } from "../components/notice.tsx";
import { useSignInOptions } from "./branding.ts";

interface ProviderButtonProps {
  /** Asks the server for the way. */
  readonly begin: () => Promise<{ readonly url: string }>;
  readonly variant?: "primary" | "secondary";
}

/** A button that leads to the identity provider, if there is one. It leaves the page, which loses unsaved input. */
export function ProviderButton({ begin, variant = "secondary" }: ProviderButtonProps) {
  const { data: offered } = useSignInOptions();
  const [isPending, setIsPending] = useState(false);
  const [error, setError] = useState<string>();
  // A person who goes back from the provider may find this page as they left it.
  useEffect(() => {
    const rest = () => setIsPending(false);
    addEventListener("pageshow", rest);
    return () => removeEventListener("pageshow", rest);
  }, []);
  const provider = offered?.methods.provider ?? null;
  if (provider === null) return null;
  const go = async () => {
    setIsPending(true);
    setError(undefined);
    try {
      // The button stays pending: the browser is on its way.
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

/** The address of a page as the server takes it back: without characters that addresses have not. */
export function returnAddress(page: string): string {
  const { pathname, search } = new URL(page, location.origin);
  const address = pathname + search;
  return address.length > MAX_ADDRESS_LENGTH ? pathname : address;
}

const MAX_ADDRESS_LENGTH = 500;
