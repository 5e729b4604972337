/*! Footfall's most read pages, MIT. Visitors choose paths: none becomes markup or leads to another site. */
(async d => {
const { src } = d.currentScript
if (d.readyState == 'loading') await new Promise(go => d.addEventListener('DOMContentLoaded', go))

const script = d.querySelector('script[data-footfall-titles]')
const titles = parsed(script?.textContent) || {}
const titleOf = path => titles[path] || titles[decoded(path)]
const isListed = path => script?.dataset.footfallTitles != 'only' || titleOf(path)

d.querySelectorAll('[data-footfall-top]').forEach(list => fill(list).catch(() => {}))

// If anything fails, the list keeps the site's own text.
async function fill(list) {
	const { footfallTop: days, footfallCount: count, footfallBy: by, footfallSite: site } = list.dataset
	const shown = by == 'visitors' || by == 'comments' ? by : 'people'
	const query = new URLSearchParams({ by: by || 'views', days: days || 7, count: count || 10 })
	const answer = await (await fetch(new URL('api/statistics/top?' + query, src))).json()
	const base = new URL(site || '/', location)
	const items = answer.data.pages.filter(({ path }) => isWithin(base, path) && isListed(path))
		.map(page => item(page, base, page[shown] ?? page.views))
	if (items[0]) list.replaceChildren(...items)
}

// As browsers resolve it: '//other.example' and '/\t/other.example' are other sites, and 'post-1' is no address.
function isWithin({ origin }, path) {
	try { return path[0] == '/' && new URL(path, origin).origin == origin } catch { return false }
}

function item({ path }, { origin }, number) {
	const link = d.createElement('a'), li = d.createElement('li'), span = d.createElement('span')
	link.href = new URL(path, origin)
	link.textContent = titleOf(path) || shortened(decoded(path))
	link.dir = 'auto' // isolates right-to-left text
	li.append(link)
	if (number === +number) span.textContent = number, li.append(' ', span)
	return li
}

function parsed(json) {
	try { return JSON.parse(json) } catch {}
}

function decoded(path) {
	try { return decodeURI(path) } catch { return path }
}

// A path may have two thousand characters.
function shortened(text) {
	const characters = [...text]
	return characters.length > 80 ? characters.slice(0, 79).join('') + '…' : text
}
})(document).catch(() => {})
