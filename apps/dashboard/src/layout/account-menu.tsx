import { useState } from "preact/hooks";
import { Link } from "wouter-preact";
import { api, keepCsrfToken, queries, SESSION_KEY } from "../api/api.ts";
import { describeError } from "../api/errors.ts";
import { Icon } from "../components/icon.tsx";
import { Menu, MenuItem } from "../components/menu.tsx";
import { showToast } from "../components/toast.tsx";
import { isEmbedded } from "../embedding.ts";
import { useSignedIn } from "../session/session.ts";
import { chooseTheme, readTheme, type Theme } from "./theme.ts";

/** The menu of the signed-in person: their account, the theme, and signing out. */
export function AccountMenu() {
  const { person } = useSignedIn();
  const [theme, setTheme] = useState(readTheme);
  const choose = (chosen: Theme) => {
    chooseTheme(chosen);
    setTheme(chosen);
  };
  return (
    <div class="account">
      <Menu
        label={`Account of ${person.name}`}
        button={
          <>
            <Icon name="user" />
            <span class="nav-current">{person.name}</span>
          </>
        }
      >
        <p class="menu-heading">{person.email}</p>
        {!isEmbedded && (
          <>
            <Link href="/account">
              <Icon name="user" /> Account
            </Link>
            <hr />
          </>
        )}
        <MenuItem isChosen={theme === "system"} onSelect={() => choose("system")}>
          <Icon name="screen" /> As the system
        </MenuItem>
        <MenuItem isChosen={theme === "light"} onSelect={() => choose("light")}>
          <Icon name="sun" /> Light
        </MenuItem>
        <MenuItem isChosen={theme === "dark"} onSelect={() => choose("dark")}>
          <Icon name="moon" /> Dark
        </MenuItem>
        <hr />
        <MenuItem onSelect={() => void signOut()}>{isEmbedded ? "Close the dashboard" : "Sign out"}</MenuItem>
      </Menu>
    </div>
  );
}

/** Ends the session. On a failure the person stays signed in. */
async function signOut(): Promise<void> {
  let providerUrl: string | null;
  try {
    ({ provider_url: providerUrl } = await api.session.end());
  } catch (error) {
    showToast("danger", `You are still signed in. ${describeError(error).message}`);
    return;
  }
  // Signs out at the identity provider too, which redirects the browser to the sign-in page.
  if (providerUrl !== null) return location.assign(providerUrl);
  keepCsrfToken(undefined);
  queries.setQueryData(SESSION_KEY, null);
  // Removes what the cache holds from this session.
  queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION_KEY[0] });
}
