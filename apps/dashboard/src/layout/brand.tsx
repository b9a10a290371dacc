import { Link } from "wouter-preact";
import { useAccent, useBranding } from "../session/branding.ts";

/** The operator's logo and name, as a link to the first page. */
export function Brand() {
  const { name, logo_url: logo } = useBranding();
  useAccent();
  return (
    <Link href="/" className="brand">
      <img src={logo ?? `${import.meta.env.BASE_URL}icon.svg`} alt="" />
      <span class="brand-name">{name}</span>
    </Link>
  );
}
