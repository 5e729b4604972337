// Sets a password with the token of a link, which stands behind its # and is sent to nobody else.

const form = document.getElementById("form");
const status = document.getElementById("status");
const password = document.getElementById("password");
const again = document.getElementById("again");
const token = location.hash.slice(1);

const WORDS = {
  TOKEN_EXPIRED: "This link was used already, or is more than a day old. Ask for another one.",
};

if (token) {
  form.hidden = false;
  status.textContent = "";
  password.focus();
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (password.value !== again.value) {
    status.textContent = "These are two different passwords.";
    again.focus();
    return;
  }
  const button = form.querySelector("button");
  button.disabled = true;
  status.textContent = "One moment …";
  try {
    const response = await fetch("../api/user/password", {
      method: "PUT",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ token, password: password.value }),
    });
    const { errno, errmsg } = await response.json();
    if (errno === 0) {
      form.hidden = true;
      history.replaceState(null, "", location.pathname);
      status.textContent = "Done. You can log in with it now.";
      return;
    }
    const words = typeof errmsg === "string" ? errmsg : Object.values(errmsg ?? {}).join("; ");
    status.textContent = WORDS[words] ?? words ?? "That did not work.";
  } catch {
    status.textContent = "The server does not answer. Try again in a moment.";
  }
  button.disabled = false;
});
