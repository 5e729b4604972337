/* The variables that the reference's admin front-end expects in its window. */

const { siteUrl, siteName, serverUrl, services } = document.documentElement.dataset;

Object.assign(window, {
  SITE_URL: siteUrl,
  SITE_NAME: siteName,
  serverURL: serverUrl,
  recaptchaV3Key: '',
  turnstileKey: '',
  oauthServices: JSON.parse(services),
});
