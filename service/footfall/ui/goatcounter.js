/*! Footfall, MIT. Before count.js: GoatCounter's script interface. */
(script => {
if (script.dataset.goatcounter == null) return
// count.js after this fills in numbers, and counts no second view
script.dataset.noCount = ''
const d = document
let told = {}
try { told = JSON.parse(script.dataset.goatcounterSettings) } catch {}
const gc = window.goatcounter = Object.assign(window.goatcounter || {}, told)
const endpoint = () => gc.endpoint || script.dataset.goatcounter

const page = () => {
	const link = d.querySelector('link[rel=canonical][href]')
	const site = host => host.replace(/^www\./, '')
	const { pathname, search } = link && site(new URL(link.href).hostname) == site(location.hostname)
		? new URL(link.href) : location
	return pathname + search || '/'
}
const value = (vars, name, usual) => {
	const given = vars[name] ?? gc[name]
	const found = typeof given == 'function' ? given(usual) : given
	return found === null ? found : found || usual
}
gc.filter = () => {
	const { hostname, protocol } = location
	if (window != window.parent && !gc.allow_frame) return 'frame'
	if (protocol == 'file:' && !gc.allow_local) return 'localfile'
	if (/^(localhost|127\.|10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|0\.0\.0\.0$)/.test(hostname) && !gc.allow_local)
		return 'localhost'
	try { return localStorage.skipgc == 't' && 'disabled with #toggle-goatcounter' } catch {}
	return false
}
gc.url = (vars = {}) => {
	const path = value(vars, 'path', page())
	// as a callback that prevents counting
	if (path === null) return
	return endpoint() + '?' + new URLSearchParams({ p: path, r: value(vars, 'referrer', d.referrer) ?? '',
		e: !!(vars.event || gc.event), b: navigator.webdriver ? 153 : 0, rnd: Math.random() })
}
gc.count = vars => {
	const why = gc.filter(), url = why || gc.url(vars)
	if (why) return console.warn('goatcounter: not counting because of: ' + why)
	if (url && !navigator.sendBeacon?.(url)) new Image().src = url
}
gc.get_query = name => new URLSearchParams(location.search).get(name) ?? undefined
gc.bind_events = () => d.querySelectorAll('[data-goatcounter-click]').forEach(e => {
	const { dataset } = e
	if (dataset.goatcounterBound) return
	dataset.goatcounterBound = true
	const send = () => gc.count({ event: true, path: dataset.goatcounterClick || e.name || e.id || '',
		referrer: dataset.goatcounterReferrer })
	e.addEventListener('click', send)
	e.addEventListener('auxclick', send)
})
gc.visit_count = ({ type = 'html', append = 'body', path = page(), attr, start, end } = {}) => {
	const shown = d.createElement(type == 'html' ? 'iframe' : 'img')
	if (type == 'html') shown.style = 'border:0;width:12em;height:3em'
	const period = Object.entries({ start, end }).filter(each => each[1])
	shown.src = endpoint().replace(/\/count$/, '/counter/') + encodeURIComponent(path) + '.' + type
		+ '?' + new URLSearchParams(period)
	for (const name in attr) shown.setAttribute(name, attr[name])
	d.querySelector(append)?.append(shown)
}

if (location.hash == '#toggle-goatcounter') try {
	if (localStorage.skipgc == 't') delete localStorage.skipgc
	else localStorage.skipgc = 't'
	alert('GoatCounter tracking is now ' + (localStorage.skipgc ? 'DISABLED' : 'ENABLED') + ' in this browser.')
} catch {}
const when = (yes, event) => yes && new Promise(go => d.addEventListener(event, go, { once: true }));
(async () => {
	await when(d.readyState == 'loading', 'DOMContentLoaded')
	if (!gc.no_events) gc.bind_events()
	await when(d.visibilityState != 'visible', 'visibilitychange')
	if (!gc.no_onload) gc.count()
})()
})(document.currentScript);
