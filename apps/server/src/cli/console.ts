import { emailAddress } from "@bikeshare/contract/console";
import { Option } from "@commander-js/extra-typings";
import type { Config } from "../config.ts";
import { invitationUrl } from "../console/people/invitation.rules.ts";
import { invite } from "../console/people/invitations.ts";
import { DEFAULT_SERVICE_NAME, invitationMail } from "../console/people/mails.ts";
import { resetPerson } from "../console/people/reset.ts";
import { createMailer } from "../outbound/mail/mailer.ts";
import { type OpenCli, type ParentCommand, withSystem } from "./context.ts";
import { option, UsageError } from "./options.ts";
import { localAddress } from "./serve.ts";
import { addressOfStart } from "./start-lock.ts";

/** `console` with everything on the people who sign in to the dashboard. */
export function registerConsole(program: ParentCommand, cli: OpenCli): void {
  const group = program.command("console").description("the people who sign in to the dashboard");
  registerReset(group, cli);
  group
    .command("invite")
    .description("invite somebody by a link that signs in once")
    .addOption(new Option("--partner <id>", "into the people of this partner").conflicts("operator"))
    .option("--operator", "into your own people")
    .addOption(option("--email <address>", "whom", readEmail).makeOptionMandatory())
    .addOption(
      new Option("--role <role>", "an admin changes things, a viewer reads")
        .choices(["admin", "viewer"] as const)
        .default("admin" as const),
    )
    .action(({ partner: partnerId = null, operator = false, email, role }) => {
      if (partnerId === null && !operator)
        throw new UsageError("Say into whose people: --partner <id>, or --operator.");
      return withSystem(cli(), async (context, systemId) => {
        const invitation = { systemId, partnerId, email, role, proves: "operator" } as const;
        const { id, token, expires_at } = await invite(context, invitation);
        const { config } = context;
        const baseUrl = config.publicUrl ?? (await addressOfStart(config)) ?? localAddress(config);
        const url = invitationUrl(baseUrl, token);
        const isMailed = await mail(config, { id, email, url, expiresAt: expires_at });
        const lines = [`Invitation ${id} for ${email}, until ${expires_at.toISOString()}:`, "", `  ${url}`, ""];
        const text = [
          ...lines,
          isMailed ? "It was mailed there." : "The link works once. Give it to nobody else.",
        ].join("\n");
        context.output.result({ id, email, role, url, expires_at, mailed: isMailed }, text);
      });
    });
}

function registerReset(group: ParentCommand, cli: OpenCli): void {
  group
    .command("reset")
    .description(
      "take everything from somebody that they sign in with: passkeys, password, identity provider, sessions",
    )
    .addOption(option("--email <address>", "whose", readEmail).makeOptionMandatory())
    .action(({ email }) =>
      withSystem(cli(), async (context, systemId) => {
        const { id, passkeys, hadPassword, identities } = await resetPerson(context, systemId, email);
        const text = [
          `${email} is signed out everywhere. Removed: ${passkeys} passkeys, ${hadPassword ? "the password" : "no password"}, ${identities} accounts at identity providers.`,
          "`console invite` with the same address lets them in again.",
        ];
        context.output.result({ id, passkeys, had_password: hadPassword, identities }, text.join("\n"));
      }),
    );
}

/** Mails an invitation where a mail server is configured. @returns whether it did */
async function mail(
  { mail: server, branding }: Pick<Config, "mail" | "branding">,
  invitation: { readonly id: string; readonly email: string; readonly url: string; readonly expiresAt: Date },
): Promise<boolean> {
  const mailer = server && createMailer(server.smtpUrl, { from: server.from });
  await mailer?.send(invitationMail({ ...invitation, serviceName: branding.name ?? DEFAULT_SERVICE_NAME }));
  return mailer !== undefined;
}

function readEmail(text: string): string {
  const { success, data, error } = emailAddress.safeParse(text);
  if (!success) throw new Error(error.issues[0]?.message);
  return data;
}
